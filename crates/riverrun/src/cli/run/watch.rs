//! A turn from its first event to its end, drawn as it happens, with its questions asked.

use std::collections::VecDeque;
use std::io::Write;
use std::time::Duration;

use riverrun_client::{Client, ConnectionState, Error, Follow, FollowOptions, FollowedEvent, Turn, Update};
use riverrun_event::{ActionId, SessionId};
use serde_json::{Value, json};

use super::answer::{Answer, Wanted, answer};
use super::keyboard::Keyboard;
use crate::cli::decide::show;
use crate::cli::exit::Outcome;
use crate::cli::interrupt::Interrupts;
use crate::cli::output::Output;
use crate::cli::tail::Renderer;
use crate::cli::terminal::{Lines, Mark, Tone, escape};

/// How long after a first `^C` a second one leaves the turn running.
const MOMENT: Duration = Duration::from_millis(600);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Completed,
    Failed,
    Cancelled,
    /// A decision is needed, and nobody can be asked.
    Waiting,
    /// The user left; the turn goes on.
    Left,
}

/// An action that waits for the user.
struct Question {
    action: ActionId,
    digest: Option<String>,
    request: Value,
}

pub struct Watch {
    client: Client,
    session: SessionId,
    turn: Turn,
    output: Output,
    asks: bool,
    renderer: Renderer,
    keyboard: Keyboard,
    interrupts: Interrupts,
    questions: VecDeque<Question>,
    /// The first question was put to the user.
    is_asked: bool,
    /// What the line that comes is, for the first question.
    wanted: Wanted,
    was_stopped: bool,
    was_cut: bool,
    end: Option<Value>,
    cursor: Option<String>,
}

enum Heard {
    Update(Option<Result<Update, Error>>),
    Line(Option<String>),
    Interrupt,
}

impl Watch {
    pub fn new(client: Client, session: SessionId, turn: Turn, output: Output, asks: bool) -> Outcome<Self> {
        Ok(Self {
            client,
            session,
            cursor: Some(turn.cursor.clone()),
            turn,
            output,
            asks,
            renderer: Renderer::new(output.style()),
            keyboard: Keyboard::new(),
            interrupts: Interrupts::listen()?,
            questions: VecDeque::new(),
            is_asked: false,
            wanted: Wanted::Decision,
            was_stopped: false,
            was_cut: false,
            end: None,
        })
    }

    pub async fn run(&mut self) -> Outcome<Ending> {
        let options = FollowOptions {
            after: Some(self.turn.cursor.clone()),
            turn: Some(self.turn.turn_id.clone()),
            ..FollowOptions::default()
        };
        let mut follow = self.client.follow(&self.session, options);
        loop {
            let heard = self.listen(&mut follow).await;
            let ending = match heard {
                Heard::Interrupt => self.interrupted().await?,
                Heard::Line(line) => self.answered(line).await?,
                Heard::Update(Some(Ok(update))) => self.update(update)?,
                Heard::Update(Some(Err(error))) => {
                    self.close_line()?;
                    return Err(error.into());
                }
                Heard::Update(None) => Some(self.ended()),
            };
            if let Some(ending) = ending {
                if let Some(end) = &mut self.end {
                    self.client.restore(end).await?;
                }
                self.cursor = follow.cursor().map(str::to_owned).or(self.cursor.take());
                return Ok(ending);
            }
        }
    }

    async fn listen(&mut self, follow: &mut Follow) -> Heard {
        let is_asked = self.is_asked;
        tokio::select! {
            () = self.interrupts.next() => Heard::Interrupt,
            line = self.keyboard.line(), if is_asked => Heard::Line(line),
            update = follow.next() => Heard::Update(update),
        }
    }

    fn ended(&self) -> Ending {
        match self.end.as_ref().and_then(|end| end["type"].as_str()) {
            Some("turn.completed") => Ending::Completed,
            Some("turn.cancelled") => Ending::Cancelled,
            _ => Ending::Failed,
        }
    }

    fn update(&mut self, update: Update) -> Outcome<Option<Ending>> {
        match update {
            Update::Event(event) => return self.event(&event),
            Update::Connection(ConnectionState::Reconnecting { attempt, .. }) => {
                self.close_line()?;
                self.was_cut = true;
                let mark = self.output.style_of_notes().mark(Mark::Waiting, "cut");
                self.output.note(&format!("{mark}  trying to go on ({attempt})"));
            }
            Update::Connection(ConnectionState::Live) if self.was_cut => {
                self.was_cut = false;
                self.output.note(&self.output.style_of_notes().mark(Mark::Done, "resumed"));
            }
            Update::Connection(_) | Update::Opened(_) | Update::Snapshot(_) | Update::Frame(_) => {}
        }
        Ok(None)
    }

    fn event(&mut self, event: &FollowedEvent) -> Outcome<Option<Ending>> {
        let value = event.value()?;
        if matches!(event.kind.as_str(), "turn.completed" | "turn.failed" | "turn.cancelled") {
            self.end = Some(value.clone());
        }
        let is_asked = self.is_asked && event.kind == "action.resolved" && self.asks_about(&value);
        if is_asked && !self.output.json {
            // Somebody else decided; the question still stands on the line.
            self.output.note("");
        }
        if self.output.json {
            self.output.json_line(&event.json)?;
        } else if self.asks && event.kind == "action.required" {
            // The question that follows says the same, and more.
            self.close_line()?;
        } else {
            let text = self.renderer.event(&event.kind, &value);
            self.output.data(&text)?;
        }
        match event.kind.as_str() {
            "action.required" => self.required(&value),
            "action.resolved" => {
                let action = value["actionId"].as_str().unwrap_or_default();
                self.forget(action);
                self.ask()?;
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    fn required(&mut self, event: &Value) -> Outcome<Option<Ending>> {
        let Some(action) = event["actionId"].as_str().and_then(|id| ActionId::new(id).ok()) else {
            return Ok(None);
        };
        let request = event["payload"].clone();
        let digest = request["digest"].as_str().map(str::to_owned);
        self.questions.push_back(Question { action, digest, request });
        if !self.asks {
            return Ok(Some(Ending::Waiting));
        }
        self.ask()?;
        Ok(None)
    }

    fn asks_about(&self, resolved: &Value) -> bool {
        self.questions.front().is_some_and(|first| resolved["actionId"] == first.action.as_str())
    }

    /// Drops a question that was decided, here or elsewhere.
    fn forget(&mut self, action: &str) {
        if self.questions.front().is_some_and(|first| first.action.as_str() == action) {
            self.is_asked = false;
            self.wanted = Wanted::Decision;
        }
        self.questions.retain(|question| question.action.as_str() != action);
    }

    /// Puts the first question to the user, if it was not put before.
    fn ask(&mut self) -> Outcome {
        let Some(first) = self.questions.front().filter(|_| !self.is_asked && self.asks) else {
            return Ok(());
        };
        show(self.output, None, &first.request);
        let words = self.wanted.prompt(&first.request);
        self.is_asked = true;
        self.prompt(&words);
        Ok(())
    }

    fn prompt(&self, words: &str) {
        let style = self.output.style_of_notes();
        let mut stderr = std::io::stderr();
        // A terminal that is gone is no reason to stop.
        let _ = write!(
            stderr,
            "  {} {} ",
            style.mark(Mark::Waiting, "your decision"),
            style.paint(Tone::Dim, &format!("[{words}]"))
        );
        let _ = stderr.flush();
    }

    async fn answered(&mut self, line: Option<String>) -> Outcome<Option<Ending>> {
        // The end of input: nobody can be asked any more.
        let Some(line) = line else { return Ok(Some(Ending::Waiting)) };
        let Some(first) = self.questions.front() else { return Ok(None) };
        let (action, digest) = (first.action.clone(), first.digest.clone());
        let mut decision = match answer(line.trim(), self.wanted, &first.request) {
            Answer::Decision(decision) => decision,
            Answer::More(wanted) => {
                self.wanted = wanted;
                self.prompt(&wanted.prompt(&first.request));
                return Ok(None);
            }
            Answer::Unclear(why) => return self.ask_again(&why),
        };
        decision.digest = digest;
        match self.client.decide(&self.session, &action, &decision).await {
            // The event that tells the decision closes the question.
            Ok(_) => self.is_asked = false,
            Err(Error::Problem(problem)) => return self.ask_again(&problem.detail),
            Err(error) => return Err(error.into()),
        }
        Ok(None)
    }

    fn ask_again(&mut self, why: &str) -> Outcome<Option<Ending>> {
        self.output.note(&format!("  {}", escape(why, Lines::One)));
        self.wanted = Wanted::Decision;
        if let Some(first) = self.questions.front() {
            self.prompt(&self.wanted.prompt(&first.request));
        }
        Ok(None)
    }

    /// The first stops the turn, after a moment in which a second one leaves it running.
    async fn interrupted(&mut self) -> Outcome<Option<Ending>> {
        self.close_line()?;
        if self.is_asked {
            // The terminal shows `^C` behind the question.
            self.output.note("");
        }
        if self.was_stopped {
            return Ok(Some(Ending::Left));
        }
        self.was_stopped = true;
        self.output.note("stopping the turn; ^C again at once leaves it running");
        if tokio::time::timeout(MOMENT, self.interrupts.next()).await.is_ok() {
            self.output.note("");
            return Ok(Some(Ending::Left));
        }
        match self.client.cancel(&self.session, &self.turn.turn_id, "immediate").await {
            Ok(_) => Ok(None),
            Err(error) => {
                self.output
                    .note(&format!("it could not be stopped: {}", escape(&error.to_string(), Lines::One)));
                Ok(Some(Ending::Left))
            }
        }
    }

    fn close_line(&mut self) -> Outcome {
        let text = self.renderer.close_line();
        if text.is_empty() { Ok(()) } else { self.output.data(&text) }
    }

    /// How it ended, and how to go on.
    pub fn tell(&mut self, ending: &Ending, needed: Option<&str>) -> Outcome {
        self.close_line()?;
        if self.output.json {
            return self.output.line(&self.result(ending).to_string());
        }
        let (session, turn) = (&self.session, &self.turn.turn_id);
        let first = needed.map(|serve| format!("start `{serve}` first, then: ")).unwrap_or_default();
        match ending {
            Ending::Completed | Ending::Failed | Ending::Cancelled => {
                let style = self.output.style_of_notes();
                self.output
                    .note(&style.paint(Tone::Dim, &format!("go on: riverrun run --session {session} \"…\"")));
            }
            Ending::Waiting => {
                let action = self.questions.front().map(|question| question.action.as_str()).unwrap_or("-");
                self.output.note(&format!("a decision is needed; {first}riverrun approve {action}"));
                self.output.note(&format!("then watch: riverrun tail {session} --turn {turn}"));
            }
            Ending::Left => {
                let note = match needed {
                    Some(serve) => {
                        format!("left; it goes on with the next server: `{serve}`. Watch it there: ")
                    }
                    None => "left; the turn goes on. Watch it: ".to_owned(),
                };
                self.output.note(&format!("{note}riverrun tail {session} --turn {turn}"));
            }
        }
        Ok(())
    }

    /// The last line of `--json`, so that a script knows how it ended and where to go on.
    fn result(&self, ending: &Ending) -> Value {
        let outcome = match ending {
            Ending::Completed => "completed",
            Ending::Failed => "failed",
            Ending::Cancelled => "cancelled",
            Ending::Waiting => "waiting",
            Ending::Left => "detached",
        };
        let mut line = json!({
            "type": "result", "schemaVersion": "riverrun-cli/1", "sessionId": self.session,
            "turnId": self.turn.turn_id, "taskId": self.turn.task_id, "outcome": outcome,
        });
        if let Some(payload) = self.end.as_ref().map(|end| &end["payload"]) {
            for name in ["finalOutput", "stopReason", "usage", "error"] {
                if !payload[name].is_null() {
                    line[name] = payload[name].clone();
                }
            }
        }
        let waiting: Vec<&str> = self.questions.iter().map(|question| question.action.as_str()).collect();
        if !waiting.is_empty() {
            line["actions"] = json!(waiting);
        }
        if let Some(cursor) = &self.cursor {
            line["cursor"] = cursor.as_str().into();
        }
        line
    }
}
