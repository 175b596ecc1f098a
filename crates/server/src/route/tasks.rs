//! A task by its id, wherever in the tenant it lives.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use riverrun_dialect::{OffsetUnit, task};
use riverrun_event::{ErrorCode, TaskId, TurnId};
use riverrun_runner::{Pause, Paused, RequestKey};

use super::subagents::end;
use crate::app::App;
use crate::deliver::index_unit;
use crate::edge::{Caller, FromParams, Params, PathId, Problem, Scope, StrictQuery, not_found};
use riverrun_api::RunnerCommand;
use riverrun_api::operations::turns::{SubmittedTurn, cancel_turn, retry_turn};
use riverrun_runner::CancelMode;
use riverrun_session::Hub;
use riverrun_session::TaskPlace;

#[derive(Debug)]
pub struct TaskQuery {
    unit: OffsetUnit,
    session: Option<String>,
}

impl FromParams for TaskQuery {
    const NAMES: &'static [&'static str] = &["index_unit", "session"];
    fn from_params(params: &Params) -> Result<Self, Problem> {
        Ok(Self {
            unit: index_unit(params.get("index_unit"))?,
            session: params.get("session").map(str::to_owned),
        })
    }
}

pub async fn get(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId,
    StrictQuery(query): StrictQuery<TaskQuery>,
) -> Result<Response, Problem> {
    caller.require(Scope::Read)?;
    let object = task_json(&app, &caller, &id, query.session.as_deref(), query.unit).await?;
    Ok(([(CONTENT_TYPE, "application/json")], object).into_response())
}

/// `{task_id, status, output}`, with the children's output inside. Task ids that callers chose may be in several
/// sessions: `session` says which, otherwise the newest answers.
pub(crate) async fn task_json(
    app: &App,
    caller: &Caller,
    id: &str,
    session: Option<&str>,
    unit: OffsetUnit,
) -> Result<String, Problem> {
    let id = TaskId::new(id).map_err(|_| not_found())?;
    let hub = match session {
        Some(session) => app.hub(caller, session).await?,
        None => newest_with(app, caller, &id).await?,
    };
    let object = match app.sessions().place_of_task(&hub.key, hub.head(), &id).await? {
        Some(TaskPlace::Here(state)) => task::object(&state, &id, unit),
        Some(TaskPlace::Sealed(turn)) => task::object_of_sealed(&turn, &id, unit),
        None => None,
    };
    object.ok_or_else(not_found)
}

pub(crate) async fn newest_with(app: &App, caller: &Caller, id: &TaskId) -> Result<Arc<Hub>, Problem> {
    let found = app.log().find_task(caller.tenant(), id).await?;
    let mine = found.iter().find(|record| caller.require_session(&record.key.session).is_ok());
    app.hub(caller, mine.ok_or_else(not_found)?.key.session.as_str()).await
}

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
