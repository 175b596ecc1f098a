//! Runs: begun, followed, waited for, cancelled.

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_LOCATION, LOCATION};
use http::{HeaderValue, StatusCode};
use http_body_util::BodyExt;
use riverrun_dialect::Framing;
use riverrun_dialect::langgraph::{error, values};
use riverrun_dialect::request::Failure;
use riverrun_event::{Cursor, ErrorCode, SessionId, TurnId};
use riverrun_fold::{Action, ActionStatus, State as Folded, Status, Turn};
use riverrun_log::SessionKey;
use riverrun_runner::{CancelMode, Submit};
use serde_json::{Value, json as object};

use super::DIALECT;
use super::body::{RunBody, read};
use super::modes::Modes;
use super::resume::answers;
use super::thread::time;
use crate::app::App;
use crate::deliver::read_cursor;
use crate::edge::{Problem, Scope, not_found};
use crate::foreign::decisions::decide_all;
use crate::foreign::start::{Place, Started, finished, project, start, state, stream_from, subscribe};
use crate::foreign::{Asking, Refusal, enter, json};
use crate::runner::Asked;

pub async fn stream_in(State(app): State<App>, Path(thread): Path<String>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Write, request, async |asking| stream(&app, Some(&thread), &asking).await)
        .await
}

/// A run in a thread of its own.
pub async fn stream_alone(State(app): State<App>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Write, request, async |asking| stream(&app, None, &asking).await).await
}

pub async fn wait_in(State(app): State<App>, Path(thread): Path<String>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Write, request, async |asking| {
        let (started, place) = begin(&app, Some(&thread), &asking).await?;
        waited(&app, &asking, &started, place).await
    })
    .await
}

pub async fn wait_alone(State(app): State<App>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Write, request, async |asking| {
        let (started, place) = begin(&app, None, &asking).await?;
        waited(&app, &asking, &started, place).await
    })
    .await
}

pub async fn begin_in(State(app): State<App>, Path(thread): Path<String>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Write, request, async |asking| {
        let (started, _) = begin(&app, Some(&thread), &asking).await?;
        described(&app, &started).await
    })
    .await
}

pub async fn begin_alone(State(app): State<App>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Write, request, async |asking| {
        let (started, _) = begin(&app, None, &asking).await?;
        described(&app, &started).await
    })
    .await
}

/// What cannot be streamed is refused before anything is begun.
async fn stream(app: &App, thread: Option<&str>, asking: &Asking) -> Result<Response, Refusal> {
    let body: RunBody = read(asking)?;
    let modes = Modes::read(body.stream_mode.as_ref())?;
    let (started, place) = begin(app, thread, asking).await?;
    streamed(app, asking, &started, place, modes).await
}

/// Begins a run, or goes on with the one that the thread waits in.
async fn begin(app: &App, thread: Option<&str>, asking: &Asking) -> Result<(Started, Place), Refusal> {
    let caller = &asking.caller;
    let hub = match thread {
        Some(thread) => Some(app.hub(caller, thread).await?),
        None => None,
    };
    let body: RunBody = read(asking)?;
    let resume = body.command.as_ref().and_then(|command| command.resume.as_ref());
    if let (Some(hub), Some(resume)) = (&hub, resume) {
        let now = app.state_at(&hub.key, hub.head()).await?;
        let pending = now.actions.iter().filter(|action| action.status == ActionStatus::Pending);
        let pending = pending.map(|action| action.action_id.to_string()).collect::<Vec<_>>();
        let resumed = decide_all(app, caller, &hub.key, answers(&pending, resume)?).await?;
        let place = Place::Behind(Cursor::after(resumed.before, hub.origin()));
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

/// The headers are where the client learns how to come back.
async fn streamed(
    app: &App,
    asking: &Asking,
    started: &Started,
    place: Place,
    modes: Modes,
) -> Result<Response, Refusal> {
    let response = stream_from(app, &asking.caller, started, DIALECT, place).await?;
    Ok(placed(modes.filter(response), started, &format!("stream{}", modes.query())))
}

fn placed(mut response: Response, started: &Started, how: &str) -> Response {
    let run = format!("/threads/{}/runs/{}", started.hub.session(), started.turn);
    for (name, value) in [(LOCATION, format!("{run}/{how}")), (CONTENT_LOCATION, run)] {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// The values when the run has ended or waits for somebody.
async fn waited(app: &App, asking: &Asking, started: &Started, place: Place) -> Result<Response, Refusal> {
    let stream = subscribe(app, &asking.caller, started, DIALECT, Framing::Ndjson, place).await?;
    let mut body = Body::new(stream);
    while let Some(frame) = body.frame().await {
        if frame.is_err() {
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

pub async fn join(
    State(app): State<App>,
    Path((thread, run)): Path<(String, String)>,
    request: Request,
) -> Response {
    enter(&app, DIALECT, Scope::Read, request, async |asking| {
        let started = of(&app, &asking, &thread, &run).await?;
        let place = beginning(&app, &started).await?;
        waited(&app, &asking, &started, place).await
    })
    .await
}

/// Joins a run, behind `Last-Event-ID` if the client has one.
pub async fn join_stream(
    State(app): State<App>,
    Path((thread, run)): Path<(String, String)>,
    request: Request,
) -> Response {
    enter(&app, DIALECT, Scope::Read, request, async |asking| {
        let started = of(&app, &asking, &thread, &run).await?;
        let place = match asking.headers.get("last-event-id").map(|value| value.to_str()) {
            None | Some(Ok("" | "-1")) => beginning(&app, &started).await?,
            Some(Ok(text)) => Place::Behind(read_cursor(text, "Last-Event-ID")?),
            Some(Err(_)) => {
                let message = "`Last-Event-ID` is not one of this server's";
                return Err(Failure::new(422, "bad_cursor", message).into());
            }
        };
        streamed(&app, &asking, &started, place, Modes::of_query(asking.query.as_deref())?).await
    })
    .await
}

/// Where a client without a place begins. A stream ends where the run waits, so behind a decision it begins with what
/// there is.
async fn beginning(app: &App, started: &Started) -> Result<Place, Problem> {
    let now = state(app, started).await?;
    let is_decided = |action: &Action| {
        action.status != ActionStatus::Pending && action.turn_id.as_ref() == Some(&started.turn)
    };
    Ok(if now.actions.iter().any(is_decided) { Place::Now } else { Place::Start })
}

pub async fn one(
    State(app): State<App>,
    Path((thread, run)): Path<(String, String)>,
    request: Request,
) -> Response {
    enter(&app, DIALECT, Scope::Read, request, async |asking| {
        let started = of(&app, &asking, &thread, &run).await?;
        described(&app, &started).await
    })
    .await
}

/// The newest runs, newest first.
pub async fn list(State(app): State<App>, Path(thread): Path<String>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Read, request, async |asking| {
        let hub = app.hub(&asking.caller, &thread).await?;
        let now = app.long_state_at(&hub.key, hub.head()).await?;
        let all = now.turns.iter().rev().map(|turn| run_object(&hub.key, &now, turn));
        Ok(json(all.collect::<Value>().to_string()))
    })
    .await
}

pub async fn cancel(
    State(app): State<App>,
    Path((thread, run)): Path<(String, String)>,
    request: Request,
) -> Response {
    enter(&app, DIALECT, Scope::Write, request, async |asking| {
        let started = of(&app, &asking, &thread, &run).await?;
        let cancelled =
            app.runner().cancel(&started.hub.key, &started.turn, CancelMode::Immediate, None).await;
        app.answered(Asked::Cancel, cancelled)?;
        let waits = |pair: &str| matches!(pair, "wait=1" | "wait=true");
        if asking.query.as_deref().is_some_and(|query| query.split('&').any(waits)) {
            finished(&app, &asking.caller, &started).await?;
        }
        Ok(StatusCode::NO_CONTENT.into_response())
    })
    .await
}

async fn of(app: &App, asking: &Asking, thread: &str, run: &str) -> Result<Started, Refusal> {
    let hub = app.hub(&asking.caller, thread).await?;
    let turn = TurnId::new(run).map_err(|_| not_found())?;
    app.log().turn(&hub.key, &turn).await?.ok_or_else(not_found)?;
    Ok(Started { hub, turn })
}

/// A state that holds the turn, however old it is.
async fn seen(app: &App, started: &Started) -> Result<Folded, Problem> {
    let now = app.long_state_at(&started.hub.key, started.hub.head()).await?;
    if now.turns.iter().any(|turn| turn.turn_id == started.turn) {
        return Ok(now);
    }
    let projector = project(app, started, DIALECT, |_, _| {}).await?;
    projector.state().cloned().ok_or_else(not_found)
}

async fn described(app: &App, started: &Started) -> Result<Response, Refusal> {
    let now = seen(app, started).await?;
    let turn = now.turns.iter().find(|turn| turn.turn_id == started.turn).ok_or_else(not_found)?;
    let run = run_object(&started.hub.key, &now, turn);
    Ok(placed(json(run.to_string()), started, "stream"))
}

fn run_object(key: &SessionKey, state: &Folded, turn: &Turn) -> Value {
    let waits = state.actions.iter().any(|action| {
        action.status == ActionStatus::Pending && action.turn_id.as_ref() == Some(&turn.turn_id)
    });
    object!({
        "run_id": turn.turn_id.as_str(), "thread_id": key.session.as_str(), "assistant_id": turn.agent,
        "status": status(turn, waits), "metadata": {}, "kwargs": {}, "multitask_strategy": "enqueue",
        "created_at": time(turn.submitted_at), "updated_at": time(turn.ended_at.or(turn.started_at)),
    })
}

fn status(turn: &Turn, waits: bool) -> &'static str {
    match turn.status {
        _ if waits => "interrupted",
        Status::Completed | Status::Archived => "success",
        Status::TimedOut => "timeout",
        Status::Cancelled => "interrupted",
        status if status.is_terminal() => "error",
        _ if turn.started_at.is_none() => "pending",
        _ => "running",
    }
}
