//! A turn from its first event to its end, drawn as it happens, with its questions asked.

mod asking;
mod telling;

use std::collections::VecDeque;
use std::time::Duration;

use riverrun_client::operations::CancelTurnRequest;
use riverrun_client::{Client, ConnectionState, Error, Follow, FollowOptions, FollowedEvent, Turn, Update};
use riverrun_event::SessionId;
use serde_json::Value;

use super::answer::Wanted;
use super::keyboard::{Keyboard, Line};
use crate::cli::exit::Outcome;
use crate::cli::interrupt::Interrupts;
use crate::cli::output::Output;
use crate::cli::tail::Renderer;
use crate::cli::terminal::{Lines, Mark, escape};
use asking::Question;

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
    /// A line that is not whole yet, while a question is open.
    held: String,
    was_stopped: bool,
    /// The server was asked to stop the turn; whether it heard so is another matter.
    is_stop_asked: bool,
    was_cut: bool,
    end: Option<Value>,
    cursor: Option<String>,
}

enum Heard {
    Update(Option<Result<Update, Error>>),
    Line(Option<Line>),
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
            held: String::new(),
            was_stopped: false,
            is_stop_asked: false,
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
                    self.leave_question();
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
                self.note(&format!("{mark}  trying to go on ({attempt})"));
            }
            Update::Connection(ConnectionState::Live) if self.was_cut => {
                self.was_cut = false;
                self.note(&self.output.style_of_notes().mark(Mark::Done, "resumed"));
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
        if event.kind == "action.resolved" && self.asks_about(&value) {
            // Somebody else decided; the question still stands on the line.
            self.leave_question();
        }
        if self.output.json {
            self.output.json_line(&event.json)?;
        } else if self.asks && event.kind == "action.required" {
            // The question that follows says the same, and more.
            self.close_line()?;
        } else if self.is_stop_asked && event.kind == "model.failed" {
            // That the model's call ended with the turn is what was asked for, no failure.
            self.close_line()?;
        } else {
            let text = self.renderer.event(&event.kind, &value);
            self.draw(&text)?;
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

    /// The first stops the turn, after a moment in which a second one leaves it running.
    async fn interrupted(&mut self) -> Outcome<Option<Ending>> {
        // The terminal shows `^C` behind the question.
        self.leave_question();
        self.close_line()?;
        if self.was_stopped {
            return Ok(Some(Ending::Left));
        }
        self.was_stopped = true;
        self.output.note("stopping the turn; ^C again at once leaves it running");
        if tokio::time::timeout(MOMENT, self.interrupts.next()).await.is_ok() {
            self.output.note("");
            return Ok(Some(Ending::Left));
        }
        self.stop().await
    }

    /// Asks for the end of the turn. The answer may be slow, and the user need not wait for it.
    async fn stop(&mut self) -> Outcome<Option<Ending>> {
        self.is_stop_asked = true;
        let request = CancelTurnRequest::new(self.session.as_str(), self.turn.turn_id.as_str());
        let asked = tokio::select! {
            () = self.interrupts.next() => {
                self.output.note("");
                return Ok(Some(Ending::Left));
            }
            asked = self.client.cancel_turn(&request) => asked,
        };
        let Err(error) = asked else { return Ok(None) };
        self.is_stop_asked = false;
        self.output.note(&format!("it could not be stopped: {}", escape(&error.to_string(), Lines::One)));
        Ok(Some(Ending::Left))
    }

    fn close_line(&mut self) -> Outcome {
        let text = self.renderer.close_line();
        self.draw(&text)
    }

    /// Writes what happened. Below an open question only whole lines are written, and the question is put again.
    fn draw(&mut self, text: &str) -> Outcome {
        self.held.push_str(text);
        let ready =
            if self.is_asked { self.held.rfind('\n').map_or(0, |end| end + 1) } else { self.held.len() };
        if ready == 0 {
            return Ok(());
        }
        let rest = self.held.split_off(ready);
        let text = std::mem::replace(&mut self.held, rest);
        self.break_line();
        self.output.data(&text)?;
        self.put_again();
        Ok(())
    }

    fn note(&mut self, text: &str) {
        self.break_line();
        self.output.note(text);
        self.put_again();
    }
}
