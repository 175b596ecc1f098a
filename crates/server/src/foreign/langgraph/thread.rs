//! Threads: their making, their status and the state of their graph.

use axum::extract::{Path, Request, State};
use axum::response::Response;
use riverrun_dialect::langgraph::{interrupts, values};
use riverrun_dialect::request::Failure;
use riverrun_fold::{State as Folded, Status};
use riverrun_log::SessionKey;
use serde_json::{Value, json as object};

use super::DIALECT;
use super::body::{ThreadBody, read, session};
use crate::app::App;
use crate::edge::Scope;
use crate::foreign::{enter, json};
use crate::route::{NewSessionBody, create};

pub async fn create_thread(State(app): State<App>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Write, request, async |asking| {
        let body: ThreadBody = read(&asking)?;
        let id = body.thread_id.as_deref().map(session).transpose()?;
        let (caller, tenant) = (&asking.caller, asking.caller.tenant().clone());
        if let Some(id) = &id {
            let known = app.log().session(&SessionKey::new(tenant, id.clone())).await?;
            if known.is_some() && body.if_exists.as_deref() != Some("do_nothing") {
                let message = "this thread exists; send `if_exists: \"do_nothing\"` to go on with it";
                return Err(Failure::new(409, "conflict", message).param("thread_id").into());
            }
        }
        let new = NewSessionBody { session_id: id, ..NewSessionBody::default() };
        let (record, _) = create(&app, caller, new).await?;
        let id = record.key.session.as_str();
        let thread = object!({
            "thread_id": id, "status": "idle", "metadata": {}, "config": {}, "values": null, "interrupts": {},
        });
        Ok(json(thread.to_string()))
    })
    .await
}

pub async fn one(State(app): State<App>, Path(thread): Path<String>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Read, request, async |asking| {
        let hub = app.hub(&asking.caller, &thread).await?;
        let state = app.long_state_at(&hub.key, hub.head()).await?;
        let mut waits = object!({});
        for task in tasks(&state) {
            waits[task["id"].as_str().unwrap_or_default()] = task["interrupts"].clone();
        }
        let thread = object!({
            "thread_id": thread, "status": status(&state), "metadata": {}, "config": {},
            "values": said(&state), "interrupts": waits,
            "created_at": time(state.session.created_at), "updated_at": time(state.updated_at),
        });
        Ok(json(thread.to_string()))
    })
    .await
}

/// The state of the graph. There is one checkpoint: what the log has now.
pub async fn state_of(State(app): State<App>, Path(thread): Path<String>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Read, request, async |asking| {
        let hub = app.hub(&asking.caller, &thread).await?;
        let state = app.long_state_at(&hub.key, hub.head()).await?;
        let next: &[&str] = if matches!(status(&state), "idle" | "error") { &[] } else { &["agent"] };
        let id = state.sequence.to_string();
        let checkpoint = object!({"thread_id": thread, "checkpoint_ns": "", "checkpoint_id": id});
        let told = object!({
            "values": said(&state), "next": next, "tasks": tasks(&state), "interrupts": interrupts(&state),
            "checkpoint": checkpoint, "parent_checkpoint": null, "metadata": {},
            "created_at": time(state.updated_at),
        });
        Ok(json(told.to_string()))
    })
    .await
}

/// The values without the interrupts, which have places of their own here.
fn said(state: &Folded) -> Value {
    let mut said = values(state, None);
    if let Some(members) = said.as_object_mut() {
        members.remove("__interrupt__");
    }
    said
}

fn tasks(state: &Folded) -> Vec<Value> {
    let one = |interrupt: Value| {
        object!({
            "id": interrupt["id"], "name": "agent", "error": null, "checkpoint": null, "state": null,
            "interrupts": [interrupt],
        })
    };
    interrupts(state).into_iter().map(one).collect()
}

fn status(state: &Folded) -> &'static str {
    match state.turns.last().map(|turn| turn.status) {
        _ if !interrupts(state).is_empty() => "interrupted",
        Some(status) if !status.is_terminal() => "busy",
        Some(Status::Failed | Status::TimedOut | Status::Lost) => "error",
        Some(_) | None => "idle",
    }
}

pub(super) fn time(time: Option<riverrun_event::Timestamp>) -> Option<String> {
    time.map(|time| {
        let mut text = String::new();
        time.write(&mut text);
        text
    })
}
