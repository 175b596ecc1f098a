//! Sub-agents over JSON-RPC: started, listed, waited for, spoken to, closed.

use riverrun_event::Input;
use serde::Deserialize;
use serde_json::json;

use super::carry::text;
use super::params;
use super::turn_control::split;
use crate::app::App;
use crate::edge::{Caller, Problem, decode_text};
use crate::route::{self, Once};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Tell {
    session_id: String,
    subagent_id: String,
    input: Input,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Close {
    session_id: String,
    subagent_id: String,
    reason: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct OfSubagent {
    session_id: String,
    subagent_id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Wait {
    session_id: String,
    #[serde(default)]
    subagent_ids: Vec<String>,
    /// The requests behind this one wait too.
    #[serde(default = "ten")]
    timeout_seconds: u64,
}

fn ten() -> u64 {
    10
}

pub(super) async fn spawn(app: &App, caller: &Caller, params: &str, once: &Once) -> Result<String, Problem> {
    let ([session], body) = split(params, ["sessionId"])?;
    let hub = app.hub(caller, &session).await?;
    let body: route::SpawnBody = decode_text(&body)?;
    Ok(text(&route::spawn(app, &hub, body, once.request()).await?))
}

pub(super) async fn list(app: &App, caller: &Caller, of: params::OfSession) -> Result<String, Problem> {
    let hub = app.hub(caller, &of.session_id).await?;
    Ok(text(&route::children(app, &hub).await?))
}

pub(super) async fn wait(app: &App, caller: &Caller, params: Wait) -> Result<String, Problem> {
    let hub = app.hub(caller, &params.session_id).await?;
    let waited = route::waited(app, &hub, &params.subagent_ids, params.timeout_seconds).await;
    let renamed = |problem: Problem| match problem.field_name() {
        Some("wait") => problem.field("timeoutSeconds"),
        Some(_) | None => problem,
    };
    Ok(text(&waited.map_err(renamed)?))
}

/// The runner goes on with a sub-agent by itself after a restart, so this shows how it stands.
pub(super) async fn resume(app: &App, caller: &Caller, of: OfSubagent) -> Result<String, Problem> {
    let hub = app.hub(caller, &of.session_id).await?;
    Ok(text(&route::child(app, &hub, &of.subagent_id).await?))
}

pub(super) async fn tell(app: &App, caller: &Caller, params: Tell, once: &Once) -> Result<String, Problem> {
    let hub = app.hub(caller, &params.session_id).await?;
    route::tell(app, &hub, &params.subagent_id, params.input, once.request()).await?;
    Ok(json!({ "subagentId": params.subagent_id }).to_string())
}

pub(super) async fn close(app: &App, caller: &Caller, params: Close, once: &Once) -> Result<String, Problem> {
    let hub = app.hub(caller, &params.session_id).await?;
    Ok(text(&route::end(app, &hub, &params.subagent_id, params.reason, once.request()).await?))
}
