//! The processes of a session: listed, written to, ended; and where they run.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use riverrun_event::{ErrorCode, ProcessId};
use riverrun_fold::{Process, read_model};
use riverrun_runner::{ProcessWrite, RequestKey, Terminate};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json as object};

use super::command::Command;
use super::json;
use crate::app::App;
use crate::edge::{Caller, PathId, PathIds, Problem, Scope, StrictQuery, invalid, not_found};
use riverrun_api::RunnerCommand;
use riverrun_session::Hub;

/// The most that one write may hold.
const MOST: usize = 64 * 1024;

#[derive(Debug, Serialize)]
pub(crate) struct Processes {
    processes: Vec<Process>,
    /// True if older ones are in the log alone.
    truncated: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct WriteBody {
    #[serde(default)]
    text: String,
    /// The text is kept nowhere.
    #[serde(default)]
    secret: bool,
    /// Nothing comes behind it.
    #[serde(default)]
    end_of_input: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TerminateBody {
    reason: Option<String>,
}

pub async fn list(
    State(app): State<App>,
    caller: Caller,
    PathId(session): PathId,
    StrictQuery(()): StrictQuery<()>,
) -> Result<Response, Problem> {
    caller.require(Scope::Read)?;
    let hub = app.hub(&caller, &session).await?;
    Ok(json(StatusCode::OK, &processes(&app, &hub).await?))
}

pub async fn get(
    State(app): State<App>,
    caller: Caller,
    PathIds(session, process): PathIds,
    StrictQuery(()): StrictQuery<()>,
) -> Result<Response, Problem> {
    caller.require(Scope::Read)?;
    let hub = app.hub(&caller, &session).await?;
    Ok(json(StatusCode::OK, &process_of(&app, &hub, &process).await?))
}

pub async fn environment_of(
    State(app): State<App>,
    caller: Caller,
    PathId(session): PathId,
    StrictQuery(()): StrictQuery<()>,
) -> Result<Response, Problem> {
    caller.require(Scope::Read)?;
    let hub = app.hub(&caller, &session).await?;
    Ok(json(StatusCode::OK, &environment(&app, &hub).await?))
}

pub async fn stdin(command: Command) -> Result<Response, Problem> {
    let body = command.body()?;
    let by = command.by.clone();
    let told = write_stdin(&command.app, &command.hub, &command.id, body, by, command.once.request()).await?;
    command.answer(StatusCode::ACCEPTED, &told).await
}

pub async fn terminate(command: Command) -> Result<Response, Problem> {
    let body = command.body_or_default()?;
    let by = command.by.clone();
    let told = end_process(&command.app, &command.hub, &command.id, body, by, command.once.request()).await?;
    command.answer(StatusCode::OK, &told).await
}

pub(crate) async fn processes(app: &App, hub: &Hub) -> Result<Processes, Problem> {
    let known = app.sessions().state_at(&hub.key, hub.head()).await?.processes;
    Ok(Processes { processes: known.entries, truncated: known.dropped > 0 })
}

pub(crate) async fn process_of(app: &App, hub: &Hub, id: &str) -> Result<Process, Problem> {
    let known = processes(app, hub).await?.processes.into_iter().find(|known| known.process_id == id);
    known.ok_or_else(not_found)
}

/// What the log tells of the processes, and what this server says of the machine.
pub(crate) async fn environment(app: &App, hub: &Hub) -> Result<Value, Problem> {
    let state = app.sessions().state_at(&hub.key, hub.head()).await?;
    let told = read_model::read_models(&state).execution_environment_snapshot;
    let mut environment = serde_json::to_value(told).unwrap_or_default();
    environment["os"] = std::env::consts::OS.into();
    environment["arch"] = std::env::consts::ARCH.into();
    environment["cwd"] = match std::env::current_dir() {
        Ok(cwd) => cwd.display().to_string().into(),
        Err(_) => "unavailable".into(),
    };
    // Commands are started without one.
    environment["shell"] = "not_applicable".into();
    environment["resourceLimits"] = object!({ "stdinBytes": MOST });
    Ok(environment)
}

pub(crate) async fn write_stdin(
    app: &App,
    hub: &Hub,
    process: &str,
    body: WriteBody,
    by: String,
    request: Option<RequestKey>,
) -> Result<Value, Problem> {
    let WriteBody { text, secret, end_of_input } = body;
    if text.len() > MOST {
        let detail =
            format!("`text` has {} bytes, and one write may have {MOST}; write it in parts", text.len());
        return Err(Problem::new(ErrorCode::BodyTooLarge, detail).field("text").limit(MOST as u64));
    }
    if text.is_empty() && !end_of_input {
        return Err(invalid("text", &"it is empty: give it something, or `endOfInput`"));
    }
    let process = ProcessId::new(process).map_err(|_| not_found())?;
    let told = object!({ "processId": process, "size": text.len() });
    let write = ProcessWrite { process, text, secret, end_of_input, written_by: Some(by) };
    let written = app.runner().write_process(&hub.key, write, request).await;
    app.answered(RunnerCommand::Process, written)?;
    Ok(told)
}

pub(crate) async fn end_process(
    app: &App,
    hub: &Hub,
    process: &str,
    body: TerminateBody,
    by: String,
    request: Option<RequestKey>,
) -> Result<Value, Problem> {
    let process = ProcessId::new(process).map_err(|_| not_found())?;
    let terminate = Terminate { by, reason: body.reason };
    let over = app.runner().terminate_process(&hub.key, &process, terminate, request).await;
    let over = app.answered(RunnerCommand::Process, over)?;
    let mut told = object!({ "processId": over.process_id, "status": over.status });
    if let Some(code) = over.exit_code {
        told["exitCode"] = code.into();
    }
    Ok(told)
}
