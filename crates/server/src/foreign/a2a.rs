//! A2A 1.0 as JSON-RPC: a context is a session, a task is a turn.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use http::header::HOST;
use http_body_util::BodyExt;
use riverrun_dialect::a2a::{envelope, error_envelope};
use riverrun_dialect::{Dialect, Framing};
use riverrun_event::{ActionId, Cursor, ErrorCode, Input, Part, RawJson, TurnId};
use riverrun_runner::{Busy, CancelMode, Decision, Submit};
use serde_json::{Map, Value, json as object};

use super::chat_agent::session_of;
use super::decisions::{Answer, decide_all};
use super::start::{Place, Started, derived, find, finished, project, start, subscribe};
use super::{Asking, Refusal, enter, json};
use crate::app::App;
use crate::edge::{Caller, Media, Problem, Scope, not_found, stream_response};
use crate::runner::Asked;

const DIALECT: Dialect = Dialect::A2a;

/// What the server can do. It names no agent: who may know them has a key.
pub async fn card(request: Request) -> Response {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok()).unwrap_or("localhost");
    let url = format!("http://{host}/a2a");
    let card = object!({
        "name": "Riverrun", "description": "Agents whose runs are recorded and can be resumed.",
        "version": env!("CARGO_PKG_VERSION"),
        "supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "capabilities": {"streaming": true, "pushNotifications": false},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "securitySchemes": {"key": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}},
        "skills": [{"id": "chat", "name": "Chat", "description": "Answers messages.", "tags": ["chat"]}],
    });
    json(card.to_string())
}

pub async fn call(State(app): State<App>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Read, request, async |asking| Ok(answer(&app, &asking).await)).await
}

/// Whatever is wrong behind the key is an error of JSON-RPC.
async fn answer(app: &App, asking: &Asking) -> Response {
    let limits = riverrun_event::json::Limits::default();
    let body = riverrun_event::json::compact(&asking.body, &limits).ok();
    let Some(body) = body.and_then(|text| serde_json::from_str::<Value>(&text).ok()) else {
        return json(error_envelope("null", -32700, "the body is not JSON"));
    };
    let id = match &body["id"] {
        id @ (Value::String(_) | Value::Number(_)) => id.to_string(),
        _ => "null".to_owned(),
    };
    let method = body["method"].as_str().unwrap_or_default();
    if body["jsonrpc"] != "2.0" || method.is_empty() {
        return json(error_envelope(&id, -32600, "this is no JSON-RPC 2.0 request"));
    }
    let empty = Map::new();
    let params = body["params"].as_object().unwrap_or(&empty);
    match serve(app, &asking.caller, &id, method, params).await {
        Ok(response) => response,
        Err(refusal) => {
            let code = match &refusal {
                Refusal::Problem(problem) => i64::from(problem.code().json_rpc()),
                Refusal::Failure(_) => -32602,
            };
            json(error_envelope(&id, code, &refusal.failure().message))
        }
    }
}

async fn serve(
    app: &App,
    caller: &Caller,
    id: &str,
    method: &str,
    params: &Map<String, Value>,
) -> Result<Response, Refusal> {
    match method {
        "SendStreamingMessage" => {
            let (started, place) = send(app, caller, params).await?;
            streamed(app, caller, id, &started, place, None).await
        }
        "SendMessage" => {
            let (started, _) = send(app, caller, params).await?;
            if params.get("configuration").is_none_or(|given| given["returnImmediately"] != true) {
                settled(app, caller, &started).await?;
            }
            let (task, _) = task(app, &started).await?;
            Ok(json(envelope(id, &object!({"task": task}).to_string())))
        }
        "GetTask" => {
            let (task, _) = task(app, &named(app, caller, params).await?).await?;
            Ok(json(envelope(id, &task.to_string())))
        }
        "CancelTask" => {
            caller.require(Scope::Write)?;
            let started = named(app, caller, params).await?;
            let key = &started.hub.key;
            let cancelled = app.runner().cancel(key, &started.turn, CancelMode::Immediate, None).await;
            app.answered(Asked::Cancel, cancelled)?;
            finished(app, caller, &started).await?;
            let (task, _) = task(app, &started).await?;
            Ok(json(envelope(id, &task.to_string())))
        }
        "SubscribeToTask" => {
            let started = named(app, caller, params).await?;
            let (task, cursor) = task(app, &started).await?;
            if is_over(&task) {
                let detail = "this task has ended; read it with `GetTask`";
                return Err(Problem::new(ErrorCode::UnsupportedOperation, detail).into());
            }
            let first = object!({"task": task}).to_string();
            streamed(app, caller, id, &started, Place::Behind(cursor), Some(first)).await
        }
        other => {
            let shown: String = other.chars().take(40).filter(|c| !c.is_control()).collect();
            let detail = format!(
                "there is no method `{shown}`; there are: SendMessage, SendStreamingMessage, GetTask, \
                 CancelTask, SubscribeToTask"
            );
            Err(Problem::new(ErrorCode::MethodUnknown, detail).into())
        }
    }
}

async fn named(app: &App, caller: &Caller, params: &Map<String, Value>) -> Result<Started, Refusal> {
    let id = params.get("id").and_then(Value::as_str).ok_or_else(|| wrong("`id` must name a task"))?;
    let turn = TurnId::new(id).map_err(|_| not_found())?;
    Ok(find(app, caller, &turn).await?)
}

fn wrong(detail: &str) -> Problem {
    Problem::new(ErrorCode::InvalidField, detail.to_owned())
}

/// Begins a task, or answers the question that one waits for. The same message again finds its task.
async fn send(app: &App, caller: &Caller, params: &Map<String, Value>) -> Result<(Started, Place), Refusal> {
    caller.require(Scope::Write)?;
    let message = params.get("message").filter(|message| message.is_object());
    let message = message.ok_or_else(|| wrong("`message` must be an object"))?;
    let parts = message["parts"].as_array().filter(|parts| !parts.is_empty());
    let parts = parts.ok_or_else(|| wrong("`message.parts` must have at least one part"))?;
    if let Some(task) = message["taskId"].as_str().filter(|id| !id.is_empty()) {
        let turn = TurnId::new(task).map_err(|_| not_found())?;
        let started = find(app, caller, &turn).await?;
        let place = decide(app, caller, &started, parts).await?;
        return Ok((started, place));
    }
    let context = message["contextId"].as_str().filter(|id| !id.is_empty());
    let id = message["messageId"].as_str().filter(|id| !id.is_empty());
    let id = id.ok_or_else(|| wrong("`message.messageId` is needed"))?;
    let (session, turn) = derived(caller, &["a2a", context.unwrap_or_default(), id]);
    let metadata = message["metadata"].as_object().or_else(|| params.get("metadata")?.as_object());
    let chosen = metadata.and_then(|metadata| metadata.get("agent")?.as_str().map(str::to_owned));
    let submit = Submit {
        turn_id: Some(turn),
        agent: chosen.or_else(|| app.agents().chat_agent.clone()),
        input: Some(Input::Parts(parts.iter().map(part).collect::<Result<_, _>>()?)),
        busy: Busy::Queue,
        source: Some(DIALECT.name().to_owned()),
        ..Submit::default()
    };
    let session = context.map_or(session, session_of);
    let (started, _) = start(app, caller, Some(session), submit).await?;
    Ok((started, Place::Start))
}

fn part(part: &Value) -> Result<Part, Problem> {
    if let Some(text) = part["text"].as_str() {
        return Ok(Part::plain(text.to_owned()));
    }
    let media_type = part["mediaType"].as_str().map(str::to_owned);
    if let Some(url) = part["url"].as_str() {
        let url = Some(url.to_owned());
        return Ok(Part::File(riverrun_event::FileBlock { url, media_type, ..Default::default() }));
    }
    if part["data"].is_null() {
        return Err(wrong("a part must have `text`, `url` or `data`"));
    }
    Ok(Part::plain(part["data"].to_string()))
}

/// The first question of the task: a data part decides it, a word does, and any other text is its answer.
async fn decide(app: &App, caller: &Caller, started: &Started, parts: &[Value]) -> Result<Place, Refusal> {
    let state = super::start::state(app, started).await?;
    let pending = state.actions.iter().find(|action| {
        action.status == riverrun_fold::ActionStatus::Pending
            && action.turn_id.as_ref() == Some(&started.turn)
    });
    let pending = pending.ok_or_else(|| {
        let detail = "this task waits for nothing; send a message without `taskId`";
        Problem::new(ErrorCode::UnsupportedOperation, detail)
    })?;
    let data = parts.iter().find_map(|part| part["data"].as_object());
    let text = parts.iter().find_map(|part| part["text"].as_str()).unwrap_or_default();
    let word = data.and_then(|data| data.get("decision")?.as_str()).unwrap_or(text.trim());
    let decision = match word.to_ascii_lowercase().as_str() {
        "approve" | "approved" | "yes" => Decision::Approve,
        "reject" | "rejected" | "no" => Decision::Reject,
        _ => Decision::Respond(RawJson::of(&text).unwrap_or_default()),
    };
    let named = data.and_then(|data| data.get("actionId")?.as_str()).and_then(|id| ActionId::new(id).ok());
    let action = named.unwrap_or_else(|| pending.action_id.clone()).to_string();
    let answer = Answer { action, decision, message: None };
    let resumed = decide_all(app, caller, &started.hub.key, vec![answer]).await?;
    Ok(Place::Behind(Cursor::after(resumed.before, started.hub.origin())))
}

/// Resolves when the task has ended or waits for somebody.
async fn settled(app: &App, caller: &Caller, started: &Started) -> Result<(), Problem> {
    let framing = Framing::Ndjson;
    let stream = subscribe(app, caller, started, DIALECT, framing, Place::Start).await?;
    let mut body = Body::new(stream);
    while let Some(frame) = body.frame().await {
        if frame.is_err() {
            return Err(Problem::new(ErrorCode::Draining, "the server goes down; the task goes on"));
        }
    }
    Ok(())
}

/// The task as it stands, and the place behind what it tells.
async fn task(app: &App, started: &Started) -> Result<(Value, Cursor), Problem> {
    let (mut status, mut artifacts) = (object!({"state": "TASK_STATE_SUBMITTED"}), Vec::<Value>::new());
    let projector = project(app, started, DIALECT, |_, frames| {
        for frame in frames.iter() {
            let Ok(value) = serde_json::from_str::<Value>(frame.json) else { continue };
            if value["statusUpdate"].is_object() {
                status = value["statusUpdate"]["status"].clone();
            }
            if value["artifactUpdate"].is_object() {
                take_artifact(&mut artifacts, &value["artifactUpdate"]);
            }
        }
    });
    let cursor = Cursor::after(projector.await?.sequence(), started.hub.origin());
    let (id, context) = (started.turn.as_str(), started.hub.session().as_str());
    Ok((object!({"id": id, "contextId": context, "status": status, "artifacts": artifacts}), cursor))
}

fn take_artifact(artifacts: &mut Vec<Value>, update: &Value) {
    let id = &update["artifact"]["artifactId"];
    let known = artifacts.iter().position(|artifact| artifact["artifactId"] == *id);
    match (known, update["append"] == true) {
        (Some(at), true) => {
            let before = artifacts[at]["parts"][0]["text"].as_str().unwrap_or_default().to_owned();
            let news = update["artifact"]["parts"][0]["text"].as_str().unwrap_or_default();
            artifacts[at]["parts"][0]["text"] = format!("{before}{news}").into();
        }
        (Some(at), false) => artifacts[at] = update["artifact"].clone(),
        (None, _) => artifacts.push(update["artifact"].clone()),
    }
}

fn is_over(task: &Value) -> bool {
    let ends = ["TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED"];
    task["status"]["state"].as_str().is_some_and(|state| ends.contains(&state))
}

/// The frames of the task, each as an answer to the request.
async fn streamed(
    app: &App,
    caller: &Caller,
    id: &str,
    started: &Started,
    place: Place,
    mut first: Option<String>,
) -> Result<Response, Refusal> {
    let stream = subscribe(app, caller, started, DIALECT, Framing::Cursored, place).await?;
    let id = id.to_owned();
    let body = stream.map_frame(move |frame| {
        let first = first.take();
        frame.map_data(|lines| wrapped(&id, first.as_deref(), &lines))
    });
    Ok(stream_response(Media::EventStream, Body::new(body)))
}

fn wrapped(id: &str, first: Option<&str>, lines: &Bytes) -> Bytes {
    let mut out = String::new();
    let lines = std::str::from_utf8(lines).unwrap_or_default();
    // A line that begins with a space is a word about the stream; a heartbeat keeps the connection open.
    let frames = lines.lines().filter_map(|line| line.split_once(' '));
    for (cursor, json) in first.map(|first| ("-", first)).into_iter().chain(frames) {
        match cursor.is_empty() {
            false => out.push_str(&format!("data: {}\n\n", envelope(id, json))),
            true if json.contains("stream.heartbeat") => out.push_str(": ka\n\n"),
            true => {}
        }
    }
    out.into()
}
