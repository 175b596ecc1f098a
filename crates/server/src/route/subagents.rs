//! The sub-agents of a session: listed, spoken to, closed.

use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use riverrun_event::{Input, TaskId, ToolCallId, TurnId};
use riverrun_fold::Task;
use riverrun_runner::RequestKey;
use serde::{Deserialize, Serialize};
use serde_json::json as object;

use super::idempotency::Once;
use super::json;
use super::turns::{InputBody, check_input};
use crate::app::App;
use crate::edge::{
    Caller, CompactJson, OptionalText, PathId, PathIds, Problem, Scope, StrictQuery, decode_text, not_found,
};
use crate::runner::Asked;
use crate::session::Hub;

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
}

fn view(task: Task) -> SubagentView {
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
    StrictQuery(()): StrictQuery<()>,
) -> Result<Response, Problem> {
    caller.require(Scope::Read)?;
    let hub = app.hub(&caller, &session).await?;
    Ok(json(StatusCode::OK, &children(&app, &hub).await?))
}

/// The sub-agents of open turns and of the newest finished ones.
pub(crate) async fn children(app: &App, hub: &Hub) -> Result<Subagents, Problem> {
    let state = app.state_at(&hub.key, hub.head()).await?;
    let children = state.tasks.into_iter().filter(|task| task.parent_task_id.is_some());
    Ok(Subagents { subagents: children.map(view).collect() })
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct CloseBody {
    reason: Option<String>,
}

pub async fn input(
    State(app): State<App>,
    caller: Caller,
    PathIds(session, task): PathIds,
    StrictQuery(()): StrictQuery<()>,
    headers: HeaderMap,
    CompactJson(text): CompactJson,
) -> Result<Response, Problem> {
    caller.require(Scope::Write)?;
    let hub = app.hub(&caller, &session).await?;
    let route = format!("POST /v1/sessions/{}/subagents/{task}/input", hub.session());
    let once = Once::begin(&app, &caller, &headers, &route, &text).await?;
    if let Some(again) = once.again()? {
        return Ok(again);
    }
    tell(&app, &hub, &task, decode_text::<InputBody>(&text)?.input, once.request()).await?;
    once.answer(&app, StatusCode::ACCEPTED, &object!({"subagentId": task})).await
}

pub(crate) async fn tell(
    app: &App,
    hub: &Hub,
    task: &str,
    input: Input,
    request: Option<RequestKey>,
) -> Result<(), Problem> {
    check_input(&input)?;
    let task = TaskId::new(task).map_err(|_| not_found())?;
    let told = app.runner().subagent_input(&hub.key, &task, input, request).await;
    app.answered(Asked::Subagent, told)
}

pub async fn close(
    State(app): State<App>,
    caller: Caller,
    PathIds(session, task): PathIds,
    StrictQuery(()): StrictQuery<()>,
    headers: HeaderMap,
    OptionalText(text): OptionalText,
) -> Result<Response, Problem> {
    caller.require(Scope::Write)?;
    let hub = app.hub(&caller, &session).await?;
    let route = format!("POST /v1/sessions/{}/subagents/{task}/close", hub.session());
    let once = Once::begin(&app, &caller, &headers, &route, &text).await?;
    if let Some(again) = once.again()? {
        return Ok(again);
    }
    let body: CloseBody = if text.is_empty() { CloseBody::default() } else { decode_text(&text)? };
    end(&app, &hub, &task, body.reason).await?;
    once.answer(&app, StatusCode::ACCEPTED, &object!({"subagentId": task})).await
}

pub(crate) async fn end(app: &App, hub: &Hub, task: &str, reason: Option<String>) -> Result<(), Problem> {
    let task = TaskId::new(task).map_err(|_| not_found())?;
    let closed = app.runner().close_subagent(&hub.key, &task, reason).await;
    app.answered(Asked::Subagent, closed)
}
