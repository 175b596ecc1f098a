//! The sub-agents of a session: started, listed, waited for, spoken to, closed.

use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use riverrun_event::{ErrorCode, Input, RunId, TaskId, ToolCallId, TurnId};
use riverrun_fold::{State as Folded, TaskState};
use riverrun_runner::{RequestKey, Spawn};
use serde::{Deserialize, Serialize};
use serde_json::json as object;

use super::command::Command;
use super::idempotency;
use super::json;
use crate::app::App;
use crate::edge::{
    Caller, CompactJson, FromParams, Params, PathId, Problem, Scope, StrictQuery, decode_text, invalid,
    not_found,
};
use riverrun_api::RunnerCommand;
use riverrun_api::cursor_after;
use riverrun_api::{check_blobs, check_input};
use riverrun_session::Hub;
use riverrun_session::TaskPlace;

/// A sub-agent is the child task that it works on; their ids are the same.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SubagentView {
    subagent_id: TaskId,
    task_id: TaskId,
    status: riverrun_fold::Status,
    depth: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    objective: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn_id: Option<TurnId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_task_id: Option<TaskId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_tool_call_id: Option<ToolCallId>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Subagents {
    subagents: Vec<SubagentView>,
    /// Those of older turns are left out.
    truncated: bool,
}

fn view(task: TaskState) -> SubagentView {
    SubagentView {
        subagent_id: task.task_id.clone(),
        task_id: task.task_id,
        status: task.status,
        depth: task.depth,
        agent: task.agent,
        title: task.title,
        objective: task.objective,
        turn_id: task.turn_id,
        parent_task_id: task.parent_task_id,
        parent_tool_call_id: task.parent_tool_call_id,
    }
}

pub async fn list(
    State(app): State<App>,
    caller: Caller,
    PathId(session): PathId,
    StrictQuery(query): StrictQuery<Query>,
) -> Result<Response, Problem> {
    caller.require(Scope::Read)?;
    let hub = app.hub(&caller, &session).await?;
    let found = match query.wait {
        Some(seconds) => waited(&app, &hub, &[], seconds).await?,
        None => children(&app, &hub).await?,
    };
    Ok(json(StatusCode::OK, &found))
}

/// A sub-agent that a caller starts.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SpawnBody {
    parent_task_id: TaskId,
    agent: String,
    input: String,
}

/// A sub-agent that was started, in answers.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SpawnView {
    subagent_id: TaskId,
    task_id: TaskId,
    run_id: RunId,
    turn_id: TurnId,
    parent_task_id: TaskId,
    status: String,
    /// A reader that begins here sees all of it.
    cursor: String,
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
    let route = format!("POST /v1/sessions/{}/subagents", hub.session());
    let once = idempotency::begin_once(&app, &caller, &headers, &route, &text).await?;
    if let Some(again) = idempotency::repeated(&once)? {
        return Ok(again);
    }
    let view = spawn(&app, &hub, decode_text(&text)?, once.request()).await?;
    idempotency::answer(&once, &app, StatusCode::ACCEPTED, &view).await
}

pub(crate) async fn spawn(
    app: &App,
    hub: &Hub,
    body: SpawnBody,
    request: Option<RequestKey>,
) -> Result<SpawnView, Problem> {
    let SpawnBody { parent_task_id, agent, input } = body;
    app.agents().check(&agent)?;
    check_input(app.services(), &Input::Text(input.clone()))?;
    let spawn = Spawn { parent: parent_task_id.clone(), agent, input };
    let spawned = app.runner().spawn_subagent(&hub.key, spawn, request).await;
    let spawned = app.answered(RunnerCommand::Subagent, spawned)?;
    Ok(SpawnView {
        subagent_id: spawned.task_id.clone(),
        task_id: spawned.task_id,
        run_id: spawned.run_id,
        turn_id: spawned.turn_id,
        parent_task_id,
        status: spawned.status,
        cursor: cursor_after(hub, spawned.first.previous()).to_string(),
    })
}

#[derive(Debug)]
pub struct Query {
    wait: Option<u64>,
}

impl FromParams for Query {
    const NAMES: &'static [&'static str] = &["wait"];
    fn from_params(params: &Params) -> Result<Self, Problem> {
        Ok(Self { wait: params.parsed("wait")? })
    }
}

/// The sub-agents of open turns and of the newest finished ones.
pub(crate) async fn children(app: &App, hub: &Hub) -> Result<Subagents, Problem> {
    Ok(of_state(app.sessions().state_at(&hub.key, hub.head()).await?))
}

fn of_state(state: Folded) -> Subagents {
    let truncated = state.sealed_turns > 0;
    Subagents { subagents: state.tasks.into_iter().filter(is_subagent).map(view).collect(), truncated }
}

/// A child that no turn runs is a task that a caller keeps.
fn is_subagent(task: &TaskState) -> bool {
    task.parent_task_id.is_some() && task.turn_id.is_some()
}

/// One sub-agent, as it stands now.
pub(crate) async fn child(app: &App, hub: &Hub, id: &str) -> Result<impl Serialize + use<>, Problem> {
    let task = find(app, hub, id).await?.ok_or_else(not_found)?;
    Ok(view(task))
}

/// A sub-agent, however old its turn is.
async fn find(app: &App, hub: &Hub, id: &str) -> Result<Option<TaskState>, Problem> {
    let Ok(id) = TaskId::new(id) else { return Ok(None) };
    let tasks = match app.sessions().place_of_task(&hub.key, hub.head(), &id).await? {
        Some(TaskPlace::Here(state)) => state.tasks,
        Some(TaskPlace::Sealed(turn)) => turn.tasks,
        None => Vec::new(),
    };
    Ok(tasks.into_iter().find(|task| task.task_id == id && is_subagent(task)))
}

/// The longest that anybody may wait in one request.
const LONGEST_WAIT: u64 = 60;

/// Answers when the sub-agents with these ids have ended, or all if there are none, or when the time is over.
pub(crate) async fn waited(app: &App, hub: &Hub, ids: &[String], seconds: u64) -> Result<Subagents, Problem> {
    if seconds > LONGEST_WAIT {
        let detail = format!("it may be at most {LONGEST_WAIT}; ask again to wait longer");
        return Err(invalid("wait", &detail).limit(LONGEST_WAIT));
    }
    let mut state = app.sessions().state_at(&hub.key, hub.head()).await?;
    let mut old = Vec::new();
    for id in ids {
        let is_there = state.tasks.iter().any(|task| is_subagent(task) && task.task_id.as_str() == id);
        if !is_there {
            let found = find(app, hub, id).await?;
            old.push(view(found.ok_or_else(|| not_found().field("subagentIds"))?));
        }
    }
    let deadline = tokio::time::Instant::now() + Duration::from_secs(seconds);
    while state.tasks.iter().any(|task| is_open(task, ids)) {
        if tokio::time::timeout_at(deadline, hub.woken(state.sequence)).await.is_err() {
            break;
        }
        if app.edge().drain().is_started() {
            return Err(Problem::new(ErrorCode::Draining, "the server is shutting down; ask again"));
        }
        if hub.is_gone() {
            return Err(not_found());
        }
        app.sessions().fold_to(&hub.key, hub.head(), &mut state, |_| {}).await?;
    }
    let mut all = of_state(state);
    all.subagents.splice(..0, old);
    Ok(all)
}

fn is_open(task: &TaskState, ids: &[String]) -> bool {
    let is_meant = ids.is_empty() || ids.iter().any(|id| task.task_id.as_str() == id);
    is_subagent(task) && is_meant && !task.status.is_terminal()
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct CloseBody {
    reason: Option<String>,
}

pub async fn input(command: Command) -> Result<Response, Problem> {
    let InputBody { input } = command.body()?;
    tell(&command.app, &command.hub, &command.id, input, command.once.request()).await?;
    command.answer(StatusCode::ACCEPTED, &object!({"subagentId": command.id})).await
}

pub(crate) async fn tell(
    app: &App,
    hub: &Hub,
    task: &str,
    input: Input,
    request: Option<RequestKey>,
) -> Result<(), Problem> {
    check_input(app.services(), &input)?;
    check_blobs(app.services(), &hub.key.tenant, Some(&input), &[]).await?;
    let task = TaskId::new(task).map_err(|_| not_found())?;
    let told = app.runner().subagent_input(&hub.key, &task, input, request).await;
    app.answered(RunnerCommand::Subagent, told)
}

pub async fn close(command: Command) -> Result<Response, Problem> {
    let CloseBody { reason } = command.body_or_default()?;
    let closed = end(&command.app, &command.hub, &command.id, reason, command.once.request()).await?;
    let code = if closed.is_ended() { StatusCode::OK } else { StatusCode::ACCEPTED };
    command.answer(code, &closed).await
}

/// A sub-agent that somebody closed, in answers.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClosedView {
    subagent_id: TaskId,
    /// `cancelling`, or how it had ended before.
    status: &'static str,
}

impl ClosedView {
    pub fn is_ended(&self) -> bool {
        self.status != CANCELLING
    }

    pub fn status(&self) -> &'static str {
        self.status
    }
}

const CANCELLING: &str = "cancelling";

pub(crate) async fn end(
    app: &App,
    hub: &Hub,
    task: &str,
    reason: Option<String>,
    request: Option<RequestKey>,
) -> Result<ClosedView, Problem> {
    let task = TaskId::new(task).map_err(|_| not_found())?;
    let closed = app.runner().idempotent(request).close_subagent(&hub.key, &task, reason).await;
    let ended = app.answered(RunnerCommand::Subagent, closed)?;
    Ok(ClosedView { subagent_id: task, status: ended.map_or(CANCELLING, |status| status.as_str()) })
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct InputBody {
    input: Input,
}
