//! Turns: submitted, cancelled, tried again, steered.

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use riverrun_event::{Cursor, Input, Item, Metadata, RunId, Sequence, TaskId, ThreadId, TurnId};
use riverrun_runner::{Busy, CancelMode, Cancelled, RequestKey, Submit, Submitted};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::command::Command;
use super::idempotency;
use super::turn_input::{check_blobs, check_input, settings};
use super::turn_stream::{Wanted, stream};
use crate::app::App;
use riverrun_api::RunnerCommand;
use crate::deliver::deltas;
use crate::edge::{Caller, CompactJson, PathId, Problem, Scope, decode_text, not_found};
use riverrun_session::Hub;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SubmitBody {
    pub turn_id: Option<TurnId>,
    pub thread_id: Option<ThreadId>,
    pub agent: Option<String>,
    pub input: Input,
    #[serde(default)]
    pub busy: Busy,
    #[serde(default)]
    history: Vec<Item>,
    settings: Option<Map<String, Value>>,
    source: Option<String>,
    metadata: Option<Metadata>,
}

/// A turn in answers.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TurnView {
    pub turn_id: TurnId,
    pub task_id: TaskId,
    pub run_id: RunId,
    pub status: String,
    /// A reader that begins here sees the whole turn.
    pub cursor: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
}

impl TurnView {
    fn new(hub: &Hub, submitted: Submitted) -> Self {
        Self {
            cursor: place(hub, submitted.first.previous()),
            turn_id: submitted.turn_id,
            task_id: submitted.task_id,
            run_id: submitted.run_id,
            status: submitted.status,
            duplicate: submitted.duplicate,
        }
    }
}

/// A cancelled turn in answers.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CancelView {
    turn_id: TurnId,
    /// `cancelling`, or how the turn had ended before.
    pub status: String,
    cursor: String,
}

impl CancelView {
    pub(super) fn new(hub: &Hub, cancelled: Cancelled) -> Self {
        let cursor = place(hub, cancelled.sequence);
        Self { turn_id: cancelled.turn_id, status: cancelled.status, cursor }
    }

    /// 202 if something happens because of it.
    fn status_code(&self) -> StatusCode {
        if self.status == "cancelling" { StatusCode::ACCEPTED } else { StatusCode::OK }
    }
}

pub(super) fn place(hub: &Hub, sequence: Sequence) -> String {
    Cursor::after(sequence, hub.origin()).to_string()
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CancelBody {
    pub mode: CancelMode,
    pub reason: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct InputBody {
    pub input: Input,
}

/// A body that says nothing.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NoBody {}

pub async fn submit(
    State(app): State<App>,
    caller: Caller,
    PathId(session): PathId,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    CompactJson(text): CompactJson,
) -> Result<Response, Problem> {
    caller.require(Scope::Write)?;
    let wanted = Wanted::read(&caller, query.as_deref(), &headers)?;
    let hub = app.hub(&caller, &session).await?;
    let route = format!("POST /v1/sessions/{}/turns", hub.session());
    let once = idempotency::begin_once(&app, &caller, &headers, &route, &text).await?;
    if let (Some(again), Wanted::Answer) = (idempotency::repeated(&once)?, &wanted) {
        return Ok(again);
    }
    let mut body: SubmitBody = decode_text(&text)?;
    // The turn's name follows from the key, so that the same request finds its turn again after any crash.
    if let (None, Some(id)) = (&body.turn_id, once.id()) {
        body.turn_id = Some(TurnId::from_bytes(id));
    }
    caller.require_agent(body.agent.as_deref())?;
    if let Some(deltas) = deltas(query.as_deref())? {
        let deltas = serde_json::to_value(deltas).unwrap_or_default();
        body.settings.get_or_insert_default().entry("deltas").or_insert(deltas);
    }
    let turn = submit_turn(&app, &hub, body).await?;
    let location = format!("/v1/tasks/{}", turn.task_id);
    let mut response = match wanted {
        Wanted::Answer => idempotency::answer(&once, &app, StatusCode::ACCEPTED, &turn).await?,
        Wanted::Stream(request, media) => stream(&app, &hub, caller, *request, media, &turn).await?,
    };
    if let Ok(location) = location.parse() {
        response.headers_mut().insert(http::header::LOCATION, location);
    }
    Ok(response)
}

/// Submits a turn to a session that the caller may write to.
pub(crate) async fn submit_turn(app: &App, hub: &Arc<Hub>, body: SubmitBody) -> Result<TurnView, Problem> {
    if let Some(agent) = &body.agent {
        app.agents().check(agent)?;
    }
    check_input(app, &body.input)?;
    check_blobs(app, &hub.key.tenant, Some(&body.input), &body.history).await?;
    let submit = Submit {
        turn_id: body.turn_id,
        thread_id: body.thread_id,
        agent: body.agent,
        input: Some(body.input),
        history: body.history,
        busy: body.busy,
        settings: body.settings.map(settings).transpose()?,
        request: None,
        source: body.source,
        metadata: body.metadata,
    };
    let submitted = app.runner().submit(&hub.key, submit).await;
    Ok(TurnView::new(hub, app.answered(RunnerCommand::Submit, submitted)?))
}

fn turn_id(text: &str) -> Result<TurnId, Problem> {
    TurnId::new(text).map_err(|_| not_found())
}

pub async fn cancel(command: Command) -> Result<Response, Problem> {
    let Command { app, hub, id, .. } = &command;
    let view = cancel_turn(app, hub, id, command.body_or_default()?, command.once.request()).await?;
    command.answer(view.status_code(), &view).await
}

pub(crate) async fn cancel_turn(
    app: &App,
    hub: &Hub,
    turn: &str,
    body: CancelBody,
    request: Option<RequestKey>,
) -> Result<CancelView, Problem> {
    let cancelled =
        app.runner().idempotent(request).cancel(&hub.key, &turn_id(turn)?, body.mode, body.reason).await;
    Ok(CancelView::new(hub, app.answered(RunnerCommand::Cancel, cancelled)?))
}

pub async fn retry(command: Command) -> Result<Response, Problem> {
    let NoBody {} = command.body_or_default()?;
    let view = retry_turn(&command.app, &command.hub, &command.id, command.once.request()).await?;
    command.answer(StatusCode::ACCEPTED, &view).await
}

pub(crate) async fn retry_turn(
    app: &App,
    hub: &Hub,
    turn: &str,
    request: Option<RequestKey>,
) -> Result<TurnView, Problem> {
    let submitted = app.runner().retry(&hub.key, &turn_id(turn)?, request).await;
    Ok(TurnView::new(hub, app.answered(RunnerCommand::Retry, submitted)?))
}

pub async fn steer(command: Command) -> Result<Response, Problem> {
    let InputBody { input } = command.body()?;
    let view = steer_turn(&command.app, &command.hub, &command.id, input, command.once.request()).await?;
    command.answer(StatusCode::ACCEPTED, &view).await
}

pub(crate) async fn steer_turn(
    app: &App,
    hub: &Hub,
    turn: &str,
    input: Input,
    request: Option<RequestKey>,
) -> Result<TurnView, Problem> {
    check_input(app, &input)?;
    check_blobs(app, &hub.key.tenant, Some(&input), &[]).await?;
    let steered = app.runner().steer(&hub.key, &turn_id(turn)?, input, request).await;
    Ok(TurnView::new(hub, app.answered(RunnerCommand::Steer, steered)?))
}
