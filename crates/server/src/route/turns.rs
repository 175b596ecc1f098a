//! Turns are submitted.

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use riverrun_api::RunnerCommand;
use riverrun_api::operations::turns::SubmittedTurn;
use riverrun_event::{Input, Item, Metadata, ThreadId, TurnId};
use riverrun_runner::{Busy, Submit};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::idempotency;
use super::turn_stream::{Wanted, stream};
use crate::app::App;
use crate::deliver::deltas;
use crate::edge::{Caller, CompactJson, KeyScope, PathId, Problem, decode_text};
use riverrun_api::{check_blobs, check_input, settings};
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

pub async fn submit(
    State(app): State<App>,
    caller: Caller,
    PathId(session): PathId,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    CompactJson(text): CompactJson,
) -> Result<Response, Problem> {
    caller.require(KeyScope::Write)?;
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
pub(crate) async fn submit_turn(
    app: &App,
    hub: &Arc<Hub>,
    body: SubmitBody,
) -> Result<SubmittedTurn, Problem> {
    if let Some(agent) = &body.agent {
        app.agents().check(agent)?;
    }
    check_input(app.services(), &body.input)?;
    check_blobs(app.services(), &hub.key.tenant, Some(&body.input), &body.history).await?;
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
    Ok(SubmittedTurn::new(hub, app.answered(RunnerCommand::Submit, submitted)?))
}
