//! Threads: made, looked at, described, copied, deleted.

use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use riverrun_dialect::langgraph::{interrupts, values};
use riverrun_dialect::request::RequestFailure;
use riverrun_fold::{State as Folded, Status};
use riverrun_log::{SessionKey, SessionRecord};
use serde_json::{Value, json as object};

use super::DIALECT;
use super::absent::not_provided;
use super::body::{ThreadBody, read, session};
use crate::app::App;
use crate::edge::{Problem, Scope, not_found};
use crate::gateway::{Asking, Refusal, enter, json};
use crate::route::{NewSessionBody, change_metadata, create, event_time, forked, metadata_of, remove};
use riverrun_session::Hub;

pub async fn create_thread(State(app): State<App>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Write, request, async |asking| {
        let body = body(&asking)?;
        let id = body.thread_id.as_deref().map(session).transpose()?;
        if let Some(id) = &id {
            asking.caller.require_session(id)?;
            let key = SessionKey::new(asking.caller.tenant().clone(), id.clone());
            if app.log().session(&key).await?.is_some() {
                if body.if_exists.as_deref() != Some("do_nothing") {
                    let message = "this thread exists; send `if_exists: \"do_nothing\"` to go on with it";
                    return Err(RequestFailure::new(409, "conflict", message).param("thread_id").into());
                }
                return told(&app, &*app.hub(&asking.caller, id.as_str()).await?).await;
            }
        }
        let new = NewSessionBody { session_id: id, metadata: body.metadata, ..NewSessionBody::default() };
        let (record, _) = create(&app, &asking.caller, new).await?;
        told(&app, &*app.hub(&asking.caller, record.key.session.as_str()).await?).await
    })
    .await
}

/// What cannot be kept is refused before anything is made.
fn body(asking: &Asking) -> Result<ThreadBody, Refusal> {
    let body: ThreadBody = read(asking)?;
    if body.ttl.is_some() {
        return Err(not_provided("ttl", "how long sessions are kept is `[log] retention` in riverrun.toml"));
    }
    if body.supersteps.as_ref().is_some_and(|steps| steps.as_array().is_none_or(|steps| !steps.is_empty())) {
        return Err(not_provided(
            "supersteps",
            "a thread is what its runs said; copy another thread instead",
        ));
    }
    Ok(body)
}

pub async fn one(State(app): State<App>, Path(thread): Path<String>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Read, request, async |asking| {
        told(&app, &*app.hub(&asking.caller, &thread).await?).await
    })
    .await
}

/// Adds to a thread's metadata.
pub async fn update(State(app): State<App>, Path(thread): Path<String>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Write, request, async |asking| {
        let body = body(&asking)?;
        let hub = app.hub(&asking.caller, &thread).await?;
        change_metadata(&app, &hub, |known| known.extend(body.metadata.unwrap_or_default())).await?;
        told(&app, &hub).await
    })
    .await
}

pub async fn delete(State(app): State<App>, Path(thread): Path<String>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Write, request, async |asking| {
        remove(&app, &asking.caller, &thread).await?;
        Ok(StatusCode::NO_CONTENT.into_response())
    })
    .await
}

/// A new thread in which the same was said. A copy of an open run would run a second time.
pub async fn copy(State(app): State<App>, Path(thread): Path<String>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Write, request, async |asking| {
        let hub = app.hub(&asking.caller, &thread).await?;
        asking.caller.require_all_sessions()?;
        let at = hub.head();
        let state = app.sessions().state_at(&hub.key, at).await?;
        if state.turns.iter().any(|turn| !turn.status.is_terminal()) {
            let message = "this thread has a run that has not ended; wait for it or cancel it, then copy";
            return Err(RequestFailure::new(409, "conflict", message).into());
        }
        let copy = forked(&app, &asking.caller, &hub, at, None, |_, _| true).await?;
        told(&app, &copy).await
    })
    .await
}

async fn told(app: &App, hub: &Hub) -> Result<Response, Refusal> {
    let record = app.log().session(&hub.key).await?.ok_or_else(not_found)?;
    Ok(json(with_values(app, hub, &record).await?.to_string()))
}

/// A thread and what was said in it.
pub(super) async fn with_values(app: &App, hub: &Hub, record: &SessionRecord) -> Result<Value, Problem> {
    let state = app.sessions().long_state_at(&hub.key, hub.head()).await?;
    let mut waits = object!({});
    for task in tasks(&state) {
        waits[task["id"].as_str().unwrap_or_default()] = task["interrupts"].clone();
    }
    let mut thread = thread_object(record);
    thread["status"] = status(&state).into();
    thread["interrupts"] = waits;
    thread["values"] = if state.turns.is_empty() { Value::Null } else { said(&state) };
    Ok(thread)
}

/// A thread as the catalogue knows it.
pub(super) fn thread_object(record: &SessionRecord) -> Value {
    object!({
        "thread_id": record.key.session.as_str(), "status": word(&record.status),
        "metadata": metadata_of(record), "config": {}, "values": null, "interrupts": {},
        "created_at": time(Some(event_time(record.created_at))),
        "updated_at": time(Some(event_time(record.updated_at))),
    })
}

/// The values without the interrupts, which have places of their own here.
pub(super) fn said(state: &Folded) -> Value {
    let mut said = values(state, None);
    if let Some(members) = said.as_object_mut() {
        members.remove("__interrupt__");
    }
    said
}

pub(super) fn tasks(state: &Folded) -> Vec<Value> {
    let one = |interrupt: Value| {
        object!({
            "id": interrupt["id"], "name": "agent", "error": null, "checkpoint": null, "state": null,
            "interrupts": [interrupt],
        })
    };
    interrupts(state).into_iter().map(one).collect()
}

pub(super) fn status(state: &Folded) -> &'static str {
    match state.turns.last().map(|turn| turn.status) {
        _ if !interrupts(state).is_empty() => "interrupted",
        Some(status) if !status.is_terminal() => "busy",
        Some(Status::Failed | Status::TimedOut | Status::Lost) => "error",
        Some(_) | None => "idle",
    }
}

/// The same, of the catalogue's word.
pub(super) fn word(status: &str) -> &'static str {
    match Status::parse(status) {
        Some(status) if status.is_waiting() => "interrupted",
        Some(Status::Idle | Status::Completed | Status::Cancelled | Status::Archived) | None => "idle",
        Some(status) if status.is_terminal() => "error",
        Some(_) => "busy",
    }
}

pub(super) fn time(time: Option<riverrun_event::Timestamp>) -> Option<String> {
    time.map(|time| {
        let mut text = String::new();
        time.write(&mut text);
        text
    })
}
