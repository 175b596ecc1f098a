//! Processes over JSON-RPC: listed, written to, ended.

use serde::Deserialize;

use super::carry::text;
use super::params;
use super::turn_control::split;
use crate::app::App;
use crate::edge::{Caller, Problem, decode_text};
use crate::route::{self, Once};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct OfProcess {
    session_id: String,
    process_id: String,
}

pub(super) async fn list(app: &App, caller: &Caller, of: params::OfSession) -> Result<String, Problem> {
    let hub = app.hub(caller, &of.session_id).await?;
    Ok(text(&route::processes(app, &hub).await?))
}

pub(super) async fn get(app: &App, caller: &Caller, of: OfProcess) -> Result<String, Problem> {
    let hub = app.hub(caller, &of.session_id).await?;
    Ok(text(&route::process_of(app, &hub, &of.process_id).await?))
}

pub(super) async fn write(app: &App, caller: &Caller, params: &str, once: &Once) -> Result<String, Problem> {
    let ([session, process], body) = split(params, ["sessionId", "processId"])?;
    let hub = app.hub(caller, &session).await?;
    let (body, by) = (decode_text(&body)?, caller.key_id().to_string());
    Ok(text(&route::write_stdin(app, &hub, &process, body, by, once.request()).await?))
}

pub(super) async fn terminate(
    app: &App,
    caller: &Caller,
    params: &str,
    once: &Once,
) -> Result<String, Problem> {
    let ([session, process], body) = split(params, ["sessionId", "processId"])?;
    let hub = app.hub(caller, &session).await?;
    let (body, by) = (decode_text(&body)?, caller.key_id().to_string());
    Ok(text(&route::end_process(app, &hub, &process, body, by, once.request()).await?))
}
