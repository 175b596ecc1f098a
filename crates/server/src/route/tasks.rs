//! Tasks that the runner works on: cancelled, tried again, halted.

use riverrun_event::{ErrorCode, TaskId, TurnId};
use riverrun_runner::{Pause, Paused, RequestKey};

use super::subagents::end;
use crate::app::App;
use crate::edge::{Problem, not_found};
use riverrun_api::RunnerCommand;
use riverrun_api::operations::turns::{SubmittedTurn, cancel_turn, retry_turn};
use riverrun_runner::CancelMode;
use riverrun_session::Hub;

/// Where a task that is run here is.
struct Running {
    turn: TurnId,
    is_root: bool,
}

async fn running(app: &App, hub: &Hub, task: &str) -> Result<Running, Problem> {
    let task = TaskId::new(task).map_err(|_| not_found())?;
    let records = app.log().find_task(&hub.key.tenant, &task).await?;
    let record = records.into_iter().find(|record| record.key == hub.key).ok_or_else(not_found)?;
    Ok(Running { turn: record.fact.turn, is_root: record.fact.parent.is_none() })
}

/// The turn that a task belongs to.
pub(crate) async fn turn_of(app: &App, hub: &Hub, task: &str) -> Result<TurnId, Problem> {
    Ok(running(app, hub, task).await?.turn)
}

/// Cancels the turn of a root task, or closes a sub-agent. Answers how the task stands.
pub(crate) async fn cancel(
    app: &App,
    hub: &Hub,
    task: &str,
    reason: Option<String>,
    request: Option<RequestKey>,
) -> Result<String, Problem> {
    let found = running(app, hub, task).await?;
    if !found.is_root {
        let closed = end(app, hub, task, reason, request).await?;
        return match (closed.is_ended(), closed.status()) {
            (false, status) | (true, status @ "cancelled") => Ok(status.to_owned()),
            (true, status) => Err(has_ended(task, status)),
        };
    }
    let mode = CancelMode::default();
    let status = cancel_turn(app.services(), hub, &found.turn, mode, reason, request).await?.status;
    if status != "cancelling" && status != "cancelled" {
        return Err(has_ended(task, &status));
    }
    Ok(status)
}

fn has_ended(task: &str, status: &str) -> Problem {
    Problem::new(ErrorCode::TurnEnded, format!("task `{task}` has ended: {status}"))
}

/// Runs a root task again.
pub(crate) async fn retry(
    app: &App,
    hub: &Hub,
    task: &str,
    request: Option<RequestKey>,
) -> Result<SubmittedTurn, Problem> {
    let found = running(app, hub, task).await?;
    if !found.is_root {
        let detail = "a sub-agent is tried again by its parent; retry the root task";
        return Err(Problem::new(ErrorCode::UnsupportedOperation, detail).field("taskId"));
    }
    Ok(retry_turn(app.services(), hub, &found.turn, request).await?)
}

/// Halts a task that is run here at its next boundary, or lets it go on.
pub(crate) async fn pause(
    app: &App,
    hub: &Hub,
    task: &str,
    pause: Pause,
    request: Option<RequestKey>,
) -> Result<Paused, Problem> {
    let turn = turn_of(app, hub, task).await?;
    let task = TaskId::new(task).map_err(|_| not_found())?;
    app.answered(RunnerCommand::Pause, app.runner().pause(&hub.key, &turn, &task, pause, request).await)
}
