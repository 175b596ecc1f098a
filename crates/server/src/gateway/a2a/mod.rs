//! A2A 1.0 as JSON-RPC: a context is a session, a task is a turn.

mod card;
mod list;
mod send;
mod task;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use futures_util::TryStreamExt;
use riverrun_dialect::a2a::{envelope, error_envelope};
use riverrun_dialect::{ControlKind, Dialect, Framing, MessageKind};
use riverrun_event::{ErrorCode, TurnId};
use riverrun_log::WorkProgress;
use riverrun_runner::CancelMode;
use riverrun_session::FrameBatch;
use serde_json::{Map, Value, json as object};

use self::card::extended;
pub use self::card::public as card;
use self::list::list;
use self::send::{send, settled};
use self::task::{History, is_over, task};
use super::turn::{Place, Started, find, finished, subscribe};
use super::{Asking, Refusal, enter, json};
use crate::app::App;
use crate::edge::{Caller, Media, Problem, Scope, not_found, stream_response};
use riverrun_api::RunnerCommand;

const DIALECT: Dialect = Dialect::A2a;

/// A2A's code for a version of the protocol that is not spoken.
const VERSION: i64 = -32009;

pub async fn call(State(app): State<App>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Read, request, async |asking| Ok(answer(&app, &asking).await)).await
}

/// Whatever is wrong behind the key is an error of JSON-RPC.
async fn answer(app: &App, asking: &Asking) -> Response {
    let limits = riverrun_event::json::JsonLimits::default();
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
    if let Some(version) =
        asking.headers.get("a2a-version").map(|version| version.to_str().unwrap_or_default())
        && version.split('.').next() != Some("1")
    {
        let shown: String = version.chars().take(20).collect();
        let message = format!("version {shown} of the protocol is not spoken here; the card says 1.0");
        return json(error_envelope(&id, VERSION, &message));
    }
    let empty = Map::new();
    let params = body["params"].as_object().unwrap_or(&empty);
    match serve(app, asking, &id, method, params).await {
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
    asking: &Asking,
    id: &str,
    method: &str,
    params: &Map<String, Value>,
) -> Result<Response, Refusal> {
    let caller = &asking.caller;
    match method {
        "SendStreamingMessage" => {
            let (started, place) = send(app, caller, params).await?;
            streamed(app, caller, id, &started, place, None).await
        }
        "SendMessage" => {
            let (started, place) = send(app, caller, params).await?;
            let configured = params.get("configuration");
            let history = History::read(configured.and_then(|given| given.get("historyLength")))?;
            if configured.is_none_or(|given| given["returnImmediately"] != true) {
                settled(app, caller, &started, place).await?;
            }
            let (task, _) = task(app, &started, history).await?;
            Ok(json(envelope(id, &object!({"task": task}).to_string())))
        }
        "GetTask" => {
            let history = History::read(params.get("historyLength"))?;
            let (task, _) = task(app, &named(app, caller, params).await?, history).await?;
            Ok(json(envelope(id, &task.to_string())))
        }
        "CancelTask" => {
            caller.require(Scope::Write)?;
            let started = named(app, caller, params).await?;
            let key = &started.hub.key;
            let record = app.log().turn(key, &started.turn).await?.ok_or_else(not_found)?;
            if record.fact.progress == WorkProgress::Terminal {
                let detail = format!("the task `{}` has ended ({})", started.turn, record.fact.status);
                return Err(Problem::new(ErrorCode::TurnEnded, detail).into());
            }
            let cancelled = app.runner().cancel(key, &started.turn, CancelMode::Immediate, None).await;
            app.answered(RunnerCommand::Cancel, cancelled)?;
            finished(app, caller, &started).await?;
            let (task, _) = task(app, &started, History::default()).await?;
            Ok(json(envelope(id, &task.to_string())))
        }
        "ListTasks" => Ok(json(envelope(id, &list(app, caller, params).await?.to_string()))),
        "GetExtendedAgentCard" => Ok(json(envelope(id, &extended(app, &asking.headers).to_string()))),
        "CreateTaskPushNotificationConfig"
        | "GetTaskPushNotificationConfig"
        | "ListTaskPushNotificationConfigs"
        | "DeleteTaskPushNotificationConfig" => Err(no_push()),
        "SubscribeToTask" => {
            let started = named(app, caller, params).await?;
            let (task, cursor) = task(app, &started, History::default()).await?;
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
                 ListTasks, CancelTask, SubscribeToTask, GetExtendedAgentCard"
            );
            Err(Problem::new(ErrorCode::MethodUnknown, detail).into())
        }
    }
}

fn no_push() -> Refusal {
    let detail = "nothing is pushed from here; follow the task with `SubscribeToTask`, or ask with `GetTask`";
    Problem::new(ErrorCode::PushUnsupported, detail).into()
}

async fn named(app: &App, caller: &Caller, params: &Map<String, Value>) -> Result<Started, Refusal> {
    let id = params.get("id").and_then(Value::as_str).ok_or_else(|| wrong("`id` must name a task"))?;
    let turn = TurnId::new(id).map_err(|_| not_found())?;
    Ok(find(app, caller, &turn).await?)
}

fn wrong(detail: &str) -> Problem {
    Problem::new(ErrorCode::InvalidField, detail.to_owned())
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
    let stream = subscribe(app, caller, started, DIALECT, Framing::Messages, place).await?;
    let id = id.to_owned();
    let body = stream.map_ok(move |batch| wrapped(&id, first.take().as_deref(), &batch));
    Ok(stream_response(Media::EventStream, Body::from_stream(body)))
}

fn wrapped(id: &str, first: Option<&str>, batch: &FrameBatch) -> Bytes {
    let mut out = String::new();
    let frame = |json: &str| format!("data: {}\n\n", envelope(id, json));
    out.extend(first.map(frame));
    for message in batch.messages() {
        match message.kind {
            MessageKind::Frame(_) => out.push_str(&frame(message.json)),
            // A heartbeat keeps the connection open.
            MessageKind::Control(ControlKind::Heartbeat) => out.push_str(": ka\n\n"),
            MessageKind::Control(_) => {}
        }
    }
    out.into()
}
