//! The state of a thread's graph, now and then. Every event of the log is a checkpoint, and its sequence is its id; the
//! history tells those behind which a run had ended.

use axum::extract::{Path, Request, State};
use axum::response::Response;
use riverrun_dialect::langgraph::interrupts;
use riverrun_dialect::request::RequestFailure;
use riverrun_event::Sequence;
use riverrun_fold::State as Folded;
use serde_json::{Value, json};

use super::DIALECT;
use super::body::{HistoryBody, StateBody, read};
use super::thread::{said, status, tasks, time};
use crate::app::App;
use crate::edge::{Problem, Scope};
use crate::gateway::{enter, json as answer};
use riverrun_session::Hub;

/// As many as the client asks for by itself, and as many as are told at most; `before` leads to the others.
const STATES: (usize, usize) = (10, 100);
/// Runs that may wait or run at once: they end in another order than they began.
const OVERLAP: usize = 64;

pub async fn now(State(app): State<App>, Path(thread): Path<String>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Read, request, async |asking| {
        let hub = app.hub(&asking.caller, &thread).await?;
        Ok(answer(one(&app, &hub, hub.head()).await?.to_string()))
    })
    .await
}

pub async fn then(
    State(app): State<App>,
    Path((thread, checkpoint)): Path<(String, String)>,
    request: Request,
) -> Response {
    enter(&app, DIALECT, Scope::Read, request, async |asking| {
        let hub = app.hub(&asking.caller, &thread).await?;
        let at = place(&hub, &checkpoint)?;
        Ok(answer(one(&app, &hub, at).await?.to_string()))
    })
    .await
}

/// The same, by the object that a state has.
pub async fn named(State(app): State<App>, Path(thread): Path<String>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Read, request, async |asking| {
        let body: StateBody = read(&asking)?;
        let hub = app.hub(&asking.caller, &thread).await?;
        let at = match body.checkpoint.as_ref().and_then(id) {
            Some(id) => place(&hub, id)?,
            None => hub.head(),
        };
        Ok(answer(one(&app, &hub, at).await?.to_string()))
    })
    .await
}

/// Newest first: how it stands, then how it stood when each run had ended.
pub async fn history(State(app): State<App>, Path(thread): Path<String>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Read, request, async |asking| {
        let body: HistoryBody = read(&asking)?;
        let limit = body.limit.unwrap_or(STATES.0).clamp(1, STATES.1);
        let hub = app.hub(&asking.caller, &thread).await?;
        let before = body.before.as_ref().and_then(id).map(|id| place(&hub, id)).transpose()?;
        let mut places = checkpoints(&app, &hub, before, limit + 1).await?;
        places.reverse();
        let (mut told, mut parent) = (Vec::new(), None);
        app.sessions()
            .long_states_at(&hub.key, &places, |state| {
                told.push(object(&hub, state, parent.replace(state.sequence)));
            })
            .await?;
        told.reverse();
        told.truncate(limit);
        Ok(answer(Value::Array(told).to_string()))
    })
    .await
}

/// The newest `limit` places before `before`.
async fn checkpoints(
    app: &App,
    hub: &Hub,
    before: Option<Sequence>,
    limit: usize,
) -> Result<Vec<Sequence>, Problem> {
    // One that began behind `before` ended behind it too.
    let turns = app.sessions().turns_before(hub, before, limit + OVERLAP).await?;
    let ended = turns.iter().filter(|turn| turn.status.is_terminal()).map(|turn| turn.last_sequence);
    let mut places: Vec<Sequence> = ended.collect();
    if before.is_none() && hub.head() > Sequence::ZERO {
        places.push(hub.head());
    }
    places.retain(|place| before.is_none_or(|before| *place < before));
    places.sort_unstable_by(|a, b| b.cmp(a));
    places.dedup();
    places.truncate(limit);
    Ok(places)
}

async fn one(app: &App, hub: &Hub, at: Sequence) -> Result<Value, Problem> {
    let state = app.sessions().long_state_at(&hub.key, at).await?;
    let parent = checkpoints(app, hub, Some(at), 1).await?.first().copied();
    Ok(object(hub, &state, parent))
}

fn object(hub: &Hub, state: &Folded, parent: Option<Sequence>) -> Value {
    let next: &[&str] = if matches!(status(state), "idle" | "error") { &[] } else { &["agent"] };
    let checkpoint = |at: Sequence| json!({"thread_id": hub.session().as_str(), "checkpoint_ns": "", "checkpoint_id": at.to_string()});
    json!({
        "values": said(state), "next": next, "tasks": tasks(state), "interrupts": interrupts(state),
        "checkpoint": checkpoint(state.sequence), "parent_checkpoint": parent.map(checkpoint), "metadata": {},
        "created_at": time(state.updated_at),
    })
}

/// The id in a checkpoint, which may also stand alone.
fn id(checkpoint: &Value) -> Option<&str> {
    checkpoint.as_str().or_else(|| checkpoint["checkpoint_id"].as_str()).filter(|id| !id.is_empty())
}

fn place(hub: &Hub, id: &str) -> Result<Sequence, RequestFailure> {
    let place = id.parse::<u64>().ok().and_then(Sequence::new).filter(|at| *at <= hub.head());
    place.ok_or_else(|| {
        let shown: String = id.chars().take(40).filter(|c| !c.is_control()).collect();
        let message = format!("this thread has no checkpoint `{shown}`; a state's is in its `checkpoint`");
        RequestFailure::new(404, "not_found", message).param("checkpoint_id")
    })
}
