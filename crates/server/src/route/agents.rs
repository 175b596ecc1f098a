//! What this server runs: agents with their tools, and the names that a turn may give.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use riverrun_runner::AgentSpec;
use riverrun_runner::agent::{Approval, ToolUse};
use serde::Serialize;
use serde_json::Value;

use super::json;
use crate::app::App;
use crate::edge::{Caller, Problem, Scope, StrictQuery};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct AgentView {
    name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    description: String,
    models: Vec<String>,
    tools: Vec<ToolView>,
    subagents: Vec<String>,
    handoffs: Vec<String>,
    /// True for the agent of turns that name none.
    is_default: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolView {
    name: String,
    description: String,
    input_schema: Value,
    /// `allowed`, `ask`, `denied`, or `depends` where the arguments decide.
    policy: &'static str,
    source: String,
    is_read_only: bool,
    is_destructive: bool,
    /// The same call again changes nothing more: it is repeated where its end was not seen.
    is_idempotent: bool,
    is_concurrency_safe: bool,
    timeout_seconds: u64,
}

/// What there is.
#[derive(Debug, Serialize)]
pub(crate) struct Inventory {
    agents: Vec<AgentView>,
    /// What a turn may name beside agents.
    providers: Vec<String>,
}

pub async fn list(
    State(app): State<App>,
    caller: Caller,
    StrictQuery(()): StrictQuery<()>,
) -> Result<Response, Problem> {
    caller.require(Scope::Read)?;
    Ok(json(StatusCode::OK, &inventory(&app)))
}

pub(crate) fn inventory(app: &App) -> Inventory {
    let registry = &app.agents().registry;
    let default = registry.default_agent.as_deref();
    let agents = registry.agents.values().map(|agent| view(agent, default)).collect();
    let providers = app.agents().names().into_iter().filter(|name| name.contains('/')).collect();
    Inventory { agents, providers }
}

fn view(agent: &AgentSpec, default: Option<&str>) -> AgentView {
    AgentView {
        is_default: default == Some(agent.name.as_str()),
        name: agent.name.clone(),
        description: agent.description.clone(),
        models: agent.models.clone(),
        tools: agent.tools_now().iter().map(tool_view).collect(),
        subagents: agent.subagents.clone(),
        handoffs: agent.handoffs.clone(),
    }
}

fn tool_view(used: &ToolUse) -> ToolView {
    let definition = used.tool.definition();
    let is_destructive = definition.flags.destructive && !definition.flags.read_only;
    let policy = match &used.approval {
        Approval::Policy if is_destructive => "ask",
        Approval::Policy | Approval::Never => "allowed",
        Approval::Always | Approval::Asked(_) => "ask",
        Approval::Denied(_) => "denied",
        Approval::Predicate(_) => "depends",
    };
    ToolView {
        name: definition.name.clone(),
        description: definition.description.clone(),
        input_schema: definition.parameters.clone(),
        policy,
        source: definition.source.clone(),
        is_read_only: definition.flags.read_only,
        is_destructive,
        is_idempotent: definition.flags.idempotent || definition.flags.read_only,
        is_concurrency_safe: definition.flags.read_only,
        timeout_seconds: definition.timeout.as_secs(),
    }
}
