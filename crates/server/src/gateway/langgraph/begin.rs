//! Runs that begin, or go on: streamed, waited for, or left alone. A run without a thread has one of its own.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::response::Response;
use futures_util::StreamExt;
use http::HeaderValue;
use http::header::{CONTENT_LOCATION, LOCATION};
use riverrun_dialect::Framing;
use riverrun_dialect::langgraph::{error, values};
use riverrun_event::{ErrorCode, SessionId};
use riverrun_fold::ActionStatus;
use riverrun_runner::Submit;
use serde_json::json as object;

use super::DIALECT;
use super::body::{RunBody, read, session};
use super::modes::Modes;
use super::resume::answers;
use super::run::{described, seen};
use crate::app::App;
use crate::edge::{Caller, KeyScope, Problem};
use crate::gateway::decisions::decide_all;
use crate::gateway::turn::{Place, Started, start, stream_from, subscribe};
use crate::gateway::{Asking, Refusal, enter, json};
use riverrun_api::operations::sessions::{CreateSessionRequest, create_session};
use riverrun_session::Hub;

type Thread = Option<Path<String>>;

/// What cannot be streamed is refused before anything is begun.
pub async fn stream(State(app): State<App>, thread: Thread, request: Request) -> Response {
    enter(&app, DIALECT, KeyScope::Write, request, async |asking| {
        let body: RunBody = read(&asking)?;
        let modes = Modes::read(body.stream_mode.as_ref())?;
        let (started, place) = begun(&app, thread.as_deref(), &asking).await?;
        streamed(&app, &asking, &started, place, modes).await
    })
    .await
}

pub async fn wait(State(app): State<App>, thread: Thread, request: Request) -> Response {
    enter(&app, DIALECT, KeyScope::Write, request, async |asking| {
        let (started, place) = begun(&app, thread.as_deref(), &asking).await?;
        waited(&app, &asking, &started, place).await
    })
    .await
}

pub async fn begin(State(app): State<App>, thread: Thread, request: Request) -> Response {
    enter(&app, DIALECT, KeyScope::Write, request, async |asking| {
        let (started, _) = begun(&app, thread.as_deref(), &asking).await?;
        described(&app, &started).await
    })
    .await
}

/// Begins a run, or goes on with the one that the thread waits in.
async fn begun(app: &App, thread: Option<&String>, asking: &Asking) -> Result<(Started, Place), Refusal> {
    let caller = &asking.caller;
    let body: RunBody = read(asking)?;
    body.refuse_unknown()?;
    let hub = match thread {
        Some(thread) => Some(thread_of(app, caller, thread, &body).await?),
        None => None,
    };
    let resume = body.command.as_ref().and_then(|command| command.resume.as_ref());
    if let (Some(hub), Some(resume)) = (&hub, resume) {
        let now = app.sessions().state_at(&hub.key, hub.head()).await?;
        let pending = now.actions.iter().filter(|action| action.status == ActionStatus::Pending);
        let pending = pending.map(|action| action.action_id.to_string()).collect::<Vec<_>>();
        let resumed = decide_all(app, caller, &hub.key, answers(&pending, resume)?).await?;
        let place = resumed.place(hub);
        return Ok((Started { turn: resumed.turn, hub: hub.clone() }, place));
    }
    let submit = Submit {
        input: Some(body.input()?),
        busy: body.busy()?,
        agent: body.assistant_id.or_else(|| app.agents().chat_agent.clone()),
        source: Some(DIALECT.name().to_owned()),
        ..Submit::default()
    };
    let session: Option<SessionId> = hub.map(|hub| hub.session().clone());
    let (started, _) = start(app, caller, session, submit).await?;
    Ok((started, Place::Start))
}

/// The thread of a run, which is made if the caller wants that.
async fn thread_of(app: &App, caller: &Caller, thread: &str, body: &RunBody) -> Result<Arc<Hub>, Refusal> {
    let found = app.hub(caller, thread).await;
    if body.if_not_exists.as_deref() != Some("create") || found.is_ok() {
        return Ok(found?);
    }
    let new = CreateSessionRequest { session_id: Some(session(thread)?), ..CreateSessionRequest::default() };
    create_session(app.services(), caller, new).await?;
    Ok(app.hub(caller, thread).await?)
}

/// The headers are where the client learns how to come back.
pub(super) async fn streamed(
    app: &App,
    asking: &Asking,
    started: &Started,
    place: Place,
    modes: Modes,
) -> Result<Response, Refusal> {
    let response = stream_from(app, &asking.caller, started, DIALECT, place).await?;
    Ok(placed(modes.filter(response), started, &format!("stream{}", modes.query())))
}

pub(super) fn placed(mut response: Response, started: &Started, how: &str) -> Response {
    let run = format!("/threads/{}/runs/{}", started.hub.session(), started.turn);
    for (name, value) in [(LOCATION, format!("{run}/{how}")), (CONTENT_LOCATION, run)] {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// The values when the run has ended or waits for somebody.
pub(super) async fn waited(
    app: &App,
    asking: &Asking,
    started: &Started,
    place: Place,
) -> Result<Response, Refusal> {
    let mut stream = subscribe(app, &asking.caller, started, DIALECT, Framing::Messages, place).await?;
    while let Some(batch) = stream.next().await {
        if batch.is_err() {
            return Err(Problem::new(ErrorCode::Draining, "the server goes down; the run goes on").into());
        }
    }
    let now = seen(app, started).await?;
    let told = match error(&now, &started.turn) {
        Some(error) => object!({"__error__": error}),
        None => values(&now, Some(&started.turn)),
    };
    Ok(placed(json(told.to_string()), started, "join"))
}
