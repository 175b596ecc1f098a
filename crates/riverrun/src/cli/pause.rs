//! `riverrun pause|resume`.

use clap::Args;
use riverrun_client::Client;
use riverrun_client::operations::{GetStateRequest, PauseTaskRequest, ResumeTaskRequest};
use riverrun_event::{SessionId, TaskId, TurnId};

use super::Context;
use super::connect::resolve_session;
use super::control::running;
use super::exit::{Exit, Failure, Outcome};
use super::terminal::Mark;

#[derive(Debug, Args)]
pub struct PauseArgs {
    /// An id, the beginning of one, or `-` for the session that changed last.
    session: String,
    /// The turn; the running one without it.
    turn: Option<TurnId>,
    /// A word for those who read the session.
    #[arg(long)]
    reason: Option<String>,
}

pub async fn run(args: PauseArgs, halts: bool, context: &Context) -> Outcome {
    let client = context.connect.client()?;
    let session = resolve_session(&client, &args.session).await?;
    let turn = match args.turn {
        Some(turn) => turn,
        None => running(&client, &session).await?,
    };
    let task = task_of(&client, &session, &turn).await?;
    let paused = if halts {
        let request = PauseTaskRequest::new(session.as_str(), task.as_str());
        client.pause_task(&PauseTaskRequest { reason: args.reason, ..request }).await?
    } else {
        let request = ResumeTaskRequest::new(session.as_str(), task.as_str());
        client.resume_task(&ResumeTaskRequest { reason: args.reason, ..request }).await?
    };
    if context.output.json {
        return context.output.document(&paused);
    }
    let mark = context.output.style().mark(Mark::of_status(&paused.status), &paused.status);
    context.output.line(&format!("{mark}  {turn}"))?;
    if halts {
        context.output.note(&format!("let it go on: riverrun resume {session}"));
    }
    Ok(())
}

async fn task_of(client: &Client, session: &SessionId, turn: &TurnId) -> Outcome<TaskId> {
    let state = client.get_state(&GetStateRequest::new(session.as_str())).await?;
    let mut turns = state["turns"].as_array().into_iter().flatten();
    let found = turns.find(|known| known["turnId"] == turn.as_str());
    let task = found.and_then(|turn| turn["taskId"].as_str()).and_then(|task| TaskId::new(task).ok());
    task.ok_or_else(|| {
        Failure::new(Exit::NotFound, format_args!("no turn `{turn}` of session `{session}` runs now"))
            .hint(format_args!("`riverrun state {session}` shows its turns"))
    })
}
