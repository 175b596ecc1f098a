use riverrun_runner::AgentSpec;
use riverrun_runner::agent::{Approval, ToolUse};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext};

pub struct ListAgents;

/// List agents, their tools and policies.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListAgentsRequest {}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Agents")]
pub struct AgentInventory {
    agents: Vec<AgentView>,
    /// What a turn may name besides agents.
    providers: Vec<String>,
}

/// An agent in answers.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Agent")]
struct AgentView {
    name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    description: String,
    /// The model, then those to fall back on.
    models: Vec<String>,
    tools: Vec<ToolView>,
    /// Agents that it may call as tools.
    subagents: Vec<String>,
    /// Agents that it may hand the conversation to.
    handoffs: Vec<String>,
    /// True for the agent of turns that name none.
    is_default: bool,
}

/// A tool of an agent.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AgentTool")]
struct ToolView {
    name: String,
    description: String,
    /// A JSON Schema.
    input_schema: Value,
    /// `depends` where the arguments decide.
    #[schemars(extend("enum" = ["allowed", "ask", "denied", "depends"]))]
    policy: &'static str,
    source: String,
    is_read_only: bool,
    is_destructive: bool,
    /// The same call again changes nothing more, so it is repeated if its end was not seen.
    is_idempotent: bool,
    is_concurrency_safe: bool,
    timeout_seconds: u64,
}

impl Operation for ListAgents {
    const ABOUT: About = About {
        name: "agent.list",
        aliases: &["get_tool_inventory"],
        id: "listAgents",
        group: OperationGroup::Agents,
        method: HttpMethod::Get,
        path: "/v1/agents",
        scope: KeyScope::Read,
        pages: false,
        repeats: Repeats::Harmless,
        statuses: &[(200, "The agents.")],
        errors: &[],
        http_names: &[],
    };
    type Request = ListAgentsRequest;
    type Response = AgentInventory;

    async fn run(context: &RequestContext, _request: ListAgentsRequest) -> Result<AgentInventory, ApiError> {
        let known = context.services().agents();
        let default = known.registry.default_agent.as_deref();
        let agents = known.registry.agents.values().map(|agent| AgentView::new(agent, default)).collect();
        let providers = known.names().into_iter().filter(|name| name.contains('/')).collect();
        Ok(AgentInventory { agents, providers })
    }
}

impl AgentView {
    fn new(agent: &AgentSpec, default: Option<&str>) -> Self {
        Self {
            is_default: default == Some(agent.name.as_str()),
            name: agent.name.clone(),
            description: agent.description.clone(),
            models: agent.models.clone(),
            tools: agent.tools_now().iter().map(ToolView::new).collect(),
            subagents: agent.subagents.clone(),
            handoffs: agent.handoffs.clone(),
        }
    }
}

impl ToolView {
    fn new(used: &ToolUse) -> Self {
        let definition = used.tool.definition();
        let is_destructive = definition.flags.destructive && !definition.flags.read_only;
        let policy = match &used.approval {
            Approval::Policy if is_destructive => "ask",
            Approval::Policy | Approval::Never => "allowed",
            Approval::Always | Approval::Asked(_) => "ask",
            Approval::Denied(_) => "denied",
            Approval::Predicate(_) => "depends",
        };
        Self {
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
}
