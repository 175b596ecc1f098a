//! `riverrun tail SESSION`: follows a session through any cut.

mod file;
mod flow;
mod hook;
mod process;
mod render;

use clap::Args;
use riverrun_client::{ConnectionState, Follow, FollowOptions, FollowedEvent, SseFrame, Until, Update};
use riverrun_event::{SessionId, TaskId, TurnId};
use serde_json::json;

use super::Context;
use super::connect::resolve_session;
use super::exit::{Exit, Failure, Outcome};
use super::interrupt::Interrupts;
use super::output::Output;
use super::terminal::{Lines, Mark, Tone, escape};
pub use render::Renderer;

#[derive(Debug, Args)]
pub struct TailArgs {
    /// An id, the beginning of one, or `-` for the session that changed last.
    session: String,
    /// Begin after this sequence or cursor.
    #[arg(long, value_name = "CURSOR")]
    after: Option<String>,
    /// The wire format; only native is drawn, others are printed as they come.
    #[arg(long)]
    dialect: Option<String>,
    /// Only this turn; ends with it, and with its exit code.
    #[arg(long)]
    turn: Option<TurnId>,
    /// Only this task and its children.
    #[arg(long)]
    task: Option<TaskId>,
    /// Only these event types, such as item.*,turn.*
    #[arg(long, value_delimiter = ',')]
    types: Vec<String>,
    /// Stay for what comes (the default).
    #[arg(long, overrides_with = "no_follow")]
    follow: bool,
    /// Stop at the head of the log.
    #[arg(long, overrides_with = "follow")]
    no_follow: bool,
    /// The frames as they are on the wire.
    #[arg(long)]
    raw: bool,
}

pub async fn run(args: TailArgs, context: &Context) -> Outcome {
    let client = context.connect.client()?;
    let session = resolve_session(&client, &args.session).await?;
    let options = FollowOptions {
        after: args.after.clone(),
        dialect: args.dialect.clone(),
        turn: args.turn.clone(),
        task: args.task.clone(),
        types: args.types.clone(),
        follow: if args.no_follow { Until::CaughtUp } else { Until::Forever },
        ..FollowOptions::default()
    };
    let mut tail = Tail::new(session.clone(), &args, context.output);
    let mut follow = client.follow(&session, options);
    let detached = drive(&mut follow, &mut tail).await?;
    tail.finish(follow.cursor(), detached)?;
    if detached {
        let after = follow.cursor().map(|cursor| format!(" --after {cursor}")).unwrap_or_default();
        context
            .output
            .note(&format!("detached; the session goes on. Go on with: riverrun tail {session}{after}"));
        return Err(Failure::silent(Exit::Interrupted));
    }
    tail.verdict()
}

/// Reads to the end; true if the user left before it.
async fn drive(follow: &mut Follow, tail: &mut Tail) -> Outcome<bool> {
    let mut interrupts = Interrupts::listen()?;
    loop {
        let update = tokio::select! {
            () = interrupts.next() => return Ok(true),
            update = follow.next() => update,
        };
        match update {
            None => return Ok(false),
            Some(Ok(update)) => tail.update(update)?,
            Some(Err(error)) => {
                tail.close_line()?;
                return Err(error.into());
            }
        }
    }
}

/// What is printed for each update.
struct Tail {
    session: SessionId,
    output: Output,
    raw: bool,
    renderer: Renderer,
    events: u64,
    /// How the followed turn ended.
    ended: Option<Exit>,
    turn: Option<TurnId>,
    interrupted: bool,
    /// It stays at the head of the log.
    stays: bool,
}

impl Tail {
    fn new(session: SessionId, args: &TailArgs, output: Output) -> Self {
        let renderer = Renderer::new(output.style());
        let turn = args.turn.clone();
        Self {
            session,
            output,
            raw: args.raw,
            renderer,
            events: 0,
            ended: None,
            turn,
            interrupted: false,
            stays: !args.no_follow,
        }
    }

    fn update(&mut self, update: Update) -> Outcome {
        match update {
            Update::Event(event) => self.event(&event),
            Update::Frame(frame) => self.frame(&frame),
            Update::Connection(state) => self.connection(state),
            Update::Opened(_) => Ok(()),
            Update::Snapshot(snapshot) => {
                self.close_line()?;
                if self.output.json {
                    let line = json!({ "type": "stream.snapshot", "sequence": snapshot.sequence, "state": snapshot.state });
                    return self.output.line(&line.to_string());
                }
                self.output.note(&format!(
                    "state at {}; `riverrun state {}` shows it",
                    snapshot.sequence, self.session
                ));
                Ok(())
            }
        }
    }

    fn event(&mut self, event: &FollowedEvent) -> Outcome {
        self.events += 1;
        if self.output.json {
            self.ended = self.end_of_turn(event);
            return self.output.json_line(&event.json);
        }
        if self.raw {
            let id = event.cursor.as_deref().map(|id| format!("id: {id}\n")).unwrap_or_default();
            return self.output.json_line(&format!("{id}data: {}\n", event.json));
        }
        self.ended = self.end_of_turn(event);
        let text = self.renderer.event(&event.kind, &event.value()?);
        self.output.data(&text)
    }

    fn frame(&mut self, frame: &SseFrame) -> Outcome {
        self.events += 1;
        if self.output.json && !self.raw {
            return self.output.json_line(&frame.data);
        }
        let mut text = String::new();
        for (name, value) in [("event", &frame.event), ("id", &frame.id)] {
            if let Some(value) = value {
                text.push_str(&format!("{name}: {}\n", escape(value, Lines::One)));
            }
        }
        for line in frame.data.split('\n') {
            text.push_str(&format!("data: {}\n", escape(line, Lines::One)));
        }
        self.output.data(&format!("{text}\n"))
    }

    fn connection(&mut self, state: ConnectionState) -> Outcome {
        let style = self.output.style_of_notes();
        match state {
            ConnectionState::Reconnecting { attempt, last } => {
                self.close_line()?;
                self.interrupted = true;
                let last = last.map(|last| last.to_string()).unwrap_or_else(|| "the start".into());
                let mark = style.mark(Mark::Waiting, "cut");
                self.output.note(&format!("{mark}  after {last}; trying to go on ({attempt})"));
            }
            ConnectionState::Live if self.interrupted => {
                self.interrupted = false;
                self.output.note(&style.mark(Mark::Done, "resumed"));
            }
            ConnectionState::CaughtUp if self.stays && !self.output.json && !self.raw => {
                self.close_line()?;
                self.output.note(&style.paint(Tone::Dim, "caught up; ^C detaches, the session goes on"));
            }
            ConnectionState::Connecting
            | ConnectionState::Live
            | ConnectionState::CaughtUp
            | ConnectionState::Closed => {}
        }
        Ok(())
    }

    fn end_of_turn(&self, event: &FollowedEvent) -> Option<Exit> {
        let exit = match event.kind.as_str() {
            "turn.completed" => Exit::Ok,
            "turn.failed" => Exit::Failed,
            "turn.cancelled" => Exit::Cancelled,
            _ => return self.ended,
        };
        self.turn.is_some().then_some(exit)
    }

    fn close_line(&mut self) -> Outcome {
        let text = self.renderer.close_line();
        if text.is_empty() { Ok(()) } else { self.output.data(&text) }
    }

    /// The last line of `--json`, so that a script knows how it ended and where to go on.
    fn finish(&mut self, cursor: Option<&str>, detached: bool) -> Outcome {
        self.close_line()?;
        if !self.output.json {
            return Ok(());
        }
        let mut line = json!({
            "type": "result", "schemaVersion": "riverrun-cli/1", "sessionId": self.session,
            "outcome": if detached { "detached" } else { "ended" }, "events": self.events,
        });
        if let Some(cursor) = cursor {
            line["cursor"] = cursor.into();
        }
        self.output.line(&line.to_string())
    }

    fn verdict(&self) -> Outcome {
        match self.ended {
            None | Some(Exit::Ok) => Ok(()),
            Some(exit) => Err(Failure::silent(exit)),
        }
    }
}
