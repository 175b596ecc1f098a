//! Tasks that the runner works on, found by their id: cancelled, retried, halted with their turn.

use std::sync::Arc;

use riverrun_event::{ErrorCode, TaskId, TurnId};
use riverrun_runner::{CancelMode, Pause, RequestKey};
use riverrun_session::Hub;

use super::ChangedTask;
use super::command::{FoundTask, find, payload};
use super::verb::Verb;
use crate::operations::subagents::close_subagent;
use crate::operations::tasks::newest_session_with;
use crate::operations::turns::{SubmittedTurn, cancel_turn, retry_turn};
use crate::{ApiError, Once, RequestContext, RunnerCommand, Services, not_found, to_json};

/// The session of a task: the one that is named, otherwise the newest that has a task of this id.
pub(super) async fn session_of(
    context: &RequestContext,
    task: &str,
    session: Option<&str>,
) -> Result<Arc<Hub>, ApiError> {
    let task = TaskId::new(task).map_err(|_| not_found())?;
    match session {
        Some(session) => context.hub(session).await,
        None => newest_session_with(context.services(), context.identity(), &task).await,
    }
}

/// The turn of a task that the runner works on.
struct TurnOfTask {
    turn: TurnId,
    is_root: bool,
}

async fn find_turn(services: &Services, hub: &Hub, task: &str) -> Result<TurnOfTask, ApiError> {
    let task = TaskId::new(task).map_err(|_| not_found())?;
    let records = services.log().find_task(&hub.key.tenant, &task).await?;
    let record = records.into_iter().find(|record| record.key == hub.key).ok_or_else(not_found)?;
    Ok(TurnOfTask { turn: record.fact.turn, is_root: record.fact.parent.is_none() })
}

/// The turn that a task belongs to.
pub async fn turn_of(services: &Services, hub: &Hub, task: &str) -> Result<TurnId, ApiError> {
    Ok(find_turn(services, hub, task).await?.turn)
}

/// Cancels the turn of a root task, or closes a sub-agent.
pub(super) async fn cancel(
    services: &Services,
    hub: &Hub,
    task: &str,
    reason: Option<String>,
    request: Option<RequestKey>,
) -> Result<ChangedTask, ApiError> {
    let id = TaskId::new(task).map_err(|_| not_found())?;
    let accepted = |status| ChangedTask { is_accepted_only: true, ..ChangedTask::new(id, status) };
    let found = find_turn(services, hub, task).await?;
    if !found.is_root {
        let closed = close_subagent(services, hub, task, reason, request).await?;
        return match (closed.has_ended(), closed.status()) {
            (false, status) | (true, status @ "cancelled") => Ok(accepted(status)),
            (true, status) => Err(has_ended(task, status)),
        };
    }
    let mode = CancelMode::default();
    let status = cancel_turn(services, hub, &found.turn, mode, reason, request).await?.status;
    if status != "cancelling" && status != "cancelled" {
        return Err(has_ended(task, &status));
    }
    Ok(accepted(&status))
}

fn has_ended(task: &str, status: &str) -> ApiError {
    ApiError::new(ErrorCode::TurnEnded, format!("task `{task}` has ended: {status}"))
}

/// Runs a root task again.
pub(super) async fn retry(
    services: &Services,
    hub: &Hub,
    task: &str,
    request: Option<RequestKey>,
) -> Result<SubmittedTurn, ApiError> {
    let found = find_turn(services, hub, task).await?;
    if !found.is_root {
        let detail = "a sub-agent is tried again by its parent; retry the root task";
        return Err(ApiError::new(ErrorCode::UnsupportedOperation, detail).field("taskId"));
    }
    retry_turn(services, hub, &found.turn, request).await
}

/// Whether a task is to stop at its next boundary or to continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Halt {
    Pause,
    Resume,
}

/// Halts a task or lets it continue, whoever works on it.
pub async fn pause_task(
    services: &Services,
    hub: &Hub,
    task: &str,
    (halt, reason): (Halt, Option<String>),
    once: &Once,
) -> Result<ChangedTask, ApiError> {
    let verb = match halt {
        Halt::Pause => Verb::Pause,
        Halt::Resume => Verb::Resume,
    };
    if let FoundTask::External(locked) = find(services, hub, task).await? {
        return locked.carry_out(verb, payload(&Reason { reason }), once).await;
    }
    let turn = turn_of(services, hub, task).await?;
    let task = TaskId::new(task).map_err(|_| not_found())?;
    let pause = Pause { halts: halt == Halt::Pause, reason };
    let paused = services.runner().pause(&hub.key, &turn, &task, pause, once.request()).await;
    let paused = services.answered(RunnerCommand::Pause, paused)?;
    let changed = ChangedTask {
        duplicate: paused.duplicate,
        ..ChangedTask::new(paused.task_id, paused.status.as_str())
    };
    once.remember(services, 200, &to_json(&changed)).await?;
    Ok(changed)
}

/// The payload of a command that takes a reason and nothing else.
#[derive(serde::Serialize)]
pub(super) struct Reason {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
