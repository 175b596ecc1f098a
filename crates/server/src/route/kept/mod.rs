//! Tasks that a caller keeps: work that is done elsewhere, or by a person, and is told here.
//!
//! They belong to no turn, so no runner works on them. Their status changes only along the edges of `verb.rs`, one
//! command after the other, and each command appends the events of the standard.

mod body;
mod command;
mod step;
mod verb;

use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use riverrun_event::ErrorCode;
use riverrun_fold::read_model;
use riverrun_runner::{Pause, Paused};
use serde::Serialize;
use serde_json::{Value, json as object};

use super::command::Command;
use super::idempotency::{self, Once};
use super::json;
use crate::app::App;
use crate::edge::{Caller, CompactJson, FromParams, Params, PathId, Problem, Scope, StrictQuery};
use riverrun_session::Hub;

pub(super) use command::decoded;
pub(crate) use command::{Kept, create_task, keeps};
pub(crate) use verb::Verb;

/// A task in the answer to a command.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskView {
    pub task_id: riverrun_event::TaskId,
    pub status: &'static str,
    /// True if nothing was to be done.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
}

pub async fn post(
    State(app): State<App>,
    caller: Caller,
    PathId(session): PathId,
    StrictQuery(()): StrictQuery<()>,
    headers: HeaderMap,
    CompactJson(text): CompactJson,
) -> Result<Response, Problem> {
    caller.require(Scope::Write)?;
    let hub = app.hub(&caller, &session).await?;
    let route = format!("POST /v1/sessions/{}/tasks", hub.session());
    let once = idempotency::begin_once(&app, &caller, &headers, &route, &text).await?;
    if let Some(again) = idempotency::repeated(&once)? {
        return Ok(again);
    }
    let view = create_task(&app, &hub, &text, &once).await?;
    Ok(json(if view.duplicate { StatusCode::OK } else { StatusCode::CREATED }, &view))
}

#[derive(Debug)]
pub struct ListQuery {
    status: Option<String>,
}

impl FromParams for ListQuery {
    const NAMES: &'static [&'static str] = &["status"];
    fn from_params(params: &Params) -> Result<Self, Problem> {
        Ok(Self { status: params.get("status").map(str::to_owned) })
    }
}

pub async fn list(
    State(app): State<App>,
    caller: Caller,
    PathId(session): PathId,
    StrictQuery(query): StrictQuery<ListQuery>,
) -> Result<Response, Problem> {
    caller.require(Scope::Read)?;
    let hub = app.hub(&caller, &session).await?;
    Ok(json(StatusCode::OK, &tasks(&app, &hub, query.status.as_deref()).await?))
}

/// The tasks of open turns and of the newest finished ones, and those that callers keep.
pub(crate) async fn tasks(app: &App, hub: &Hub, status: Option<&str>) -> Result<Value, Problem> {
    let state = app.sessions().state_at(&hub.key, hub.head()).await?;
    let tasks = read_model::read_models(&state).task_snapshot.tasks;
    let wanted: Vec<_> =
        tasks.into_iter().filter(|task| status.is_none_or(|status| task.status == status)).collect();
    Ok(object!({ "tasks": wanted, "truncated": state.sealed_turns > 0 }))
}

pub async fn command(verb: Verb, command: Command) -> Result<Response, Problem> {
    let Command { app, hub, id, once, .. } = &command;
    match Kept::find(app, hub, id).await {
        Ok(kept) => Ok(json(StatusCode::OK, &kept.carry_out(verb, command.text(), once).await?)),
        Err(problem) if problem.code() == ErrorCode::TaskStatus => run_here(verb, &command, problem).await,
        Err(problem) => Err(problem),
    }
}

/// A task that is run here is halted by its runner, and cancelled and tried again with its turn.
async fn run_here(verb: Verb, command: &Command, problem: Problem) -> Result<Response, Problem> {
    let Command { app, hub, id, once, .. } = command;
    match verb {
        Verb::Cancel => {
            let status =
                super::tasks::cancel(app, hub, id, body::reason(command.text())?, once.request()).await?;
            command.answer(StatusCode::ACCEPTED, &object!({"taskId": id, "status": status})).await
        }
        Verb::Retry => {
            body::reason(command.text())?;
            command
                .answer(StatusCode::ACCEPTED, &super::tasks::retry(app, hub, id, once.request()).await?)
                .await
        }
        Verb::Pause | Verb::Resume => {
            let paused = pause_run(app, hub, id, verb, command.text(), once).await?;
            command.answer(StatusCode::OK, &paused).await
        }
        Verb::Update
        | Verb::Start
        | Verb::Progress
        | Verb::Complete
        | Verb::Fail
        | Verb::Archive
        | Verb::Link
        | Verb::Unlink => Err(problem),
    }
}

/// Halts a task that is run here, or lets it go on.
pub(crate) async fn pause_run(
    app: &App,
    hub: &Hub,
    task: &str,
    verb: Verb,
    text: &str,
    once: &Once,
) -> Result<Paused, Problem> {
    let pause = Pause { halts: verb == Verb::Pause, reason: body::reason(text)? };
    super::tasks::pause(app, hub, task, pause, once.request()).await
}
