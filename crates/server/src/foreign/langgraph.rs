//! LangGraph's classic threads and runs: a thread is a session, a run is a turn.

use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_LOCATION, LOCATION};
use http::{HeaderValue, StatusCode};
use riverrun_dialect::Dialect;
use riverrun_dialect::request::Failure;
use riverrun_event::{Input, RawJson, SessionId, TurnId};
use riverrun_fold::{ActionStatus, Status, Turn};
use riverrun_log::SessionKey;
use riverrun_runner::{Busy, CancelMode, Decision, Submit};
use serde::Deserialize;
use serde_json::{Value, json as object};

use super::decisions::{Answer, decide_all};
use super::start::{Place, Started, start, state, stream_from};
use super::{Asking, Refusal, enter, json};
use crate::app::App;
use crate::deliver::read_cursor;
use crate::edge::{Scope, not_found};
use crate::route::{NewSessionBody, create};
use crate::runner::Asked;

const DIALECT: Dialect = Dialect::LangGraph;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ThreadBody {
    thread_id: Option<String>,
    if_exists: Option<String>,
}

/// What is read of a run; other members choose what this server does not do.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RunBody {
    assistant_id: Option<String>,
    input: Option<Value>,
    command: Option<Command>,
    multitask_strategy: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Command {
    resume: Option<Value>,
}

pub async fn create_thread(State(app): State<App>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Write, request, async |asking| {
        let body: ThreadBody = if asking.body.is_empty() { ThreadBody::default() } else { read(&asking)? };
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
        Ok(json(thread_object(record.key.session.as_str(), "idle")))
    })
    .await
}

pub async fn thread(State(app): State<App>, Path(thread): Path<String>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Read, request, async |asking| {
        let hub = app.hub(&asking.caller, &thread).await?;
        let state = app.state_at(&hub.key, hub.head()).await?;
        let waits = state.actions.iter().any(|action| action.status == ActionStatus::Pending);
        let status = match state.turns.last().map(|turn| turn.status) {
            _ if waits => "interrupted",
            Some(status) if !status.is_terminal() => "busy",
            Some(Status::Failed | Status::TimedOut | Status::Lost) => "error",
            Some(_) | None => "idle",
        };
        Ok(json(thread_object(&thread, status)))
    })
    .await
}

pub async fn run(State(app): State<App>, Path(thread): Path<String>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Write, request, async |asking| {
        let hub = app.hub(&asking.caller, &thread).await?;
        begin(&app, Some(hub.session().clone()), asking).await
    })
    .await
}

/// A run in a thread of its own.
pub async fn run_alone(State(app): State<App>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Write, request, async |asking| begin(&app, None, asking).await).await
}

async fn begin(app: &App, session: Option<SessionId>, asking: Asking) -> Result<Response, Refusal> {
    let body: RunBody = read(&asking)?;
    let caller = &asking.caller;
    if let (Some(session), Some(resume)) = (&session, body.command.and_then(|command| command.resume)) {
        let key = SessionKey::new(caller.tenant().clone(), session.clone());
        let hub = app.hubs().get(&key).await?.ok_or_else(not_found)?;
        let now = app.state_at(&key, hub.head()).await?;
        let pending = now.actions.iter().filter(|action| action.status == ActionStatus::Pending);
        let pending = pending.map(|action| action.action_id.to_string()).collect::<Vec<_>>();
        let resumed = decide_all(app, caller, &key, answers(&pending, &resume)?).await?;
        let started = Started { turn: resumed.turn, hub: hub.clone() };
        let cursor = riverrun_event::Cursor::after(resumed.before, hub.origin());
        return streamed(app, &asking, &started, Place::Behind(cursor)).await;
    }
    let input = body.input.as_ref().and_then(said).ok_or_else(|| {
        Failure::new(422, "invalid_input", "`input.messages` must end with a message of the user")
            .param("input")
    })?;
    let busy = match body.multitask_strategy.as_deref() {
        None | Some("enqueue") => Busy::Queue,
        Some("reject") => Busy::Reject,
        Some("interrupt" | "rollback") => Busy::Interrupt,
        Some(_) => {
            let message = "`multitask_strategy` may be enqueue, reject, interrupt or rollback";
            return Err(Failure::new(422, "invalid_value", message).param("multitask_strategy").into());
        }
    };
    let agent = body.assistant_id.or_else(|| app.agents().chat_agent.clone());
    let source = Some(DIALECT.name().to_owned());
    let submit = Submit { agent, input: Some(input), busy, source, ..Submit::default() };
    let (started, _) = start(app, caller, session, submit).await?;
    streamed(app, &asking, &started, Place::Start).await
}

/// The headers are where the client learns how to come back.
async fn streamed(app: &App, asking: &Asking, started: &Started, place: Place) -> Result<Response, Refusal> {
    let mut response = stream_from(app, &asking.caller, started, DIALECT, place).await?;
    let run = format!("/threads/{}/runs/{}", started.hub.session(), started.turn);
    for (name, value) in [(LOCATION, format!("{run}/stream")), (CONTENT_LOCATION, run)] {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(name, value);
        }
    }
    Ok(response)
}

/// Joins a run, behind `Last-Event-ID` if the client has one.
pub async fn join(
    State(app): State<App>,
    Path((thread, run)): Path<(String, String)>,
    request: Request,
) -> Response {
    enter(&app, DIALECT, Scope::Read, request, async |asking| {
        let started = of(&app, &asking, &thread, &run).await?;
        let place = match asking.headers.get("last-event-id").map(|value| value.to_str()) {
            None | Some(Ok("" | "-1")) => Place::Start,
            Some(Ok(text)) => Place::Behind(read_cursor(text, "Last-Event-ID")?),
            Some(Err(_)) => {
                let message = "`Last-Event-ID` is not one of this server's";
                return Err(Failure::new(422, "bad_cursor", message).into());
            }
        };
        streamed(&app, &asking, &started, place).await
    })
    .await
}

pub async fn look_at(
    State(app): State<App>,
    Path((thread, run)): Path<(String, String)>,
    request: Request,
) -> Response {
    enter(&app, DIALECT, Scope::Read, request, async |asking| {
        let started = of(&app, &asking, &thread, &run).await?;
        let now = state(&app, &started).await?;
        let turn = now.turns.iter().find(|turn| turn.turn_id == started.turn).ok_or_else(not_found)?;
        let waits = now.actions.iter().any(|action| {
            action.status == ActionStatus::Pending && action.turn_id.as_ref() == Some(&started.turn)
        });
        let run = object!({
            "run_id": run, "thread_id": thread, "assistant_id": turn.agent, "status": status(turn, waits),
            "metadata": {}, "kwargs": {}, "multitask_strategy": "enqueue",
        });
        Ok(json(run.to_string()))
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

fn thread_object(id: &str, status: &str) -> String {
    object!({"thread_id": id, "status": status, "metadata": {}, "config": {}, "values": null, "interrupts": {}})
        .to_string()
}

fn session(id: &str) -> Result<SessionId, Failure> {
    SessionId::new(id).map_err(|error| Failure::new(422, "invalid_id", error.to_string()).param("thread_id"))
}

fn read<'a, T: Deserialize<'a>>(asking: &'a Asking) -> Result<T, Failure> {
    let text = riverrun_event::json::compact(&asking.body, &riverrun_event::json::Limits::default())
        .map_err(|error| Failure::new(422, "invalid_json", format!("the body is not JSON: {error}")))?;
    drop(text);
    serde_json::from_slice(&asking.body)
        .map_err(|error| Failure::new(422, "invalid_value", format!("the body does not fit: {error}")))
}

/// What the user said: a text, or the last message of the graph's state.
fn said(input: &Value) -> Option<Input> {
    if let Some(text) = input.as_str() {
        return Some(Input::Text(text.to_owned()));
    }
    let last = match &input["messages"] {
        Value::Array(messages) => messages.last()?,
        other => other,
    };
    let is_user = ["role", "type"].iter().any(|name| matches!(last[*name].as_str(), Some("user" | "human")));
    let content = if is_user { &last["content"] } else { last.as_str().map(|_| last)? };
    match content {
        Value::String(text) => Some(Input::Text(text.clone())),
        Value::Array(_) => serde_json::from_value(content.clone()).ok().map(Input::Parts),
        _ => None,
    }
}

/// The value of a resume, for each question in order: decisions by place, one word for all, or an answer.
fn answers(pending: &[String], resume: &Value) -> Result<Vec<Answer>, Failure> {
    let listed = resume["decisions"].as_array();
    if listed.is_some_and(|list| list.len() != pending.len()) {
        let message = format!("`command.resume.decisions` must have {} entries", pending.len());
        return Err(Failure::new(422, "invalid_value", message).param("command.resume"));
    }
    let answer = |(at, action): (usize, &String)| {
        let value = listed.map_or(resume, |list| &list[at]);
        let word = value["type"].as_str().or(value.as_str());
        let raw = |value: &Value| RawJson::of(value).unwrap_or_default();
        let decision = match (word, value.as_bool()) {
            (Some("approve" | "accept"), _) | (_, Some(true)) => Decision::Approve,
            (Some("reject" | "ignore"), _) | (_, Some(false)) => Decision::Reject,
            (Some("edit"), _) => Decision::Edit(raw(&value["edited_action"]["args"])),
            (Some("respond"), _) => Decision::Respond(raw(&value["message"])),
            _ => Decision::Respond(raw(value)),
        };
        let message = value["message"].as_str().map(str::to_owned);
        Answer { action: action.clone(), decision, message }
    };
    Ok(pending.iter().enumerate().map(answer).collect())
}
