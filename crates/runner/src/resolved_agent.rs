//! Who answers: an agent or a bare model, with the tools in its hands.

use std::sync::Arc;

use riverrun_event::{ToolCatalogResolved, ToolDescription};
use riverrun_provider::{Provider, ToolChoice, ToolSpec};
use riverrun_tool::{Effect, Flags, Runs, ToolDefinition};
use serde_json::{Value, json};

use crate::agent::{Approval, TRANSFER, ToolUse, Toolbox};
use crate::{AgentSpec, Deltas, Registry, Route, Settings};

/// An agent as a task sees it, with what the turn asks beside.
#[derive(Clone)]
pub(crate) struct ResolvedAgent {
    pub spec: Arc<AgentSpec>,
    /// The tools that come and go, as they are now.
    boxes: Vec<Arc<[ToolUse]>>,
    /// A bare model: no tools but the caller's, one step.
    pub is_gateway: bool,
    /// Of the turn, for its root task alone.
    pub settings: Settings,
}

/// What a name that the model calls stands for.
pub(crate) enum Tooling<'a> {
    Ours(&'a ToolUse),
    Client { schema: Value, waits: bool },
    Subagent(&'a str),
    Handoff(&'a str),
}

impl Tooling<'_> {
    /// What a decision about a call of this name is bound to; None for what the caller runs.
    pub fn definition(&self, name: &str) -> Option<ToolDefinition> {
        match self {
            Tooling::Ours(ours) => Some(ours.tool.definition().clone()),
            Tooling::Subagent(_) => Some(agent_definition(name, "subagent", subagent_schema())),
            Tooling::Handoff(_) => Some(agent_definition(name, "handoff", handoff_schema())),
            Tooling::Client { .. } => None,
        }
    }
}

impl ResolvedAgent {
    /// None if nothing has this name any more.
    pub fn find(registry: &Registry, name: &str, settings: Settings) -> Option<Self> {
        Some(match registry.resolve(name)? {
            Route::Agent(spec) => {
                let boxes = spec.toolboxes.iter().map(|toolbox| toolbox.tools()).collect();
                Self { spec, boxes, is_gateway: false, settings }
            }
            Route::Model { provider, model, fallbacks } => {
                let name = format!("{}/{model}", provider.name());
                let models = std::iter::once(name.clone()).chain(fallbacks).collect();
                let spec = AgentSpec { name, models, ..AgentSpec::default() };
                Self { spec: Arc::new(spec), boxes: Vec::new(), is_gateway: true, settings }
            }
        })
    }

    fn ours(&self) -> impl Iterator<Item = &ToolUse> {
        self.spec.tools.iter().chain(self.boxes.iter().flat_map(|tools| tools.iter()))
    }

    /// Why a tool that is not there now may be missing: the server that would have it is away.
    pub fn away(&self, name: &str) -> Option<String> {
        let is_of = |toolbox: &&Arc<dyn Toolbox>| {
            name.strip_prefix(toolbox.name()).is_some_and(|remaining| remaining.starts_with("__"))
        };
        self.spec.toolboxes.iter().find(is_of)?.problem()
    }

    /// The tools that come and go, for whoever lists them; None for an agent that has none such.
    pub fn catalogue(&self) -> Option<ToolCatalogResolved> {
        if self.spec.toolboxes.is_empty() {
            return None;
        }
        let tools = self.ours().map(|used| {
            let is_away = self.away(&used.tool.definition().name).is_some();
            described(used, is_away)
        });
        Some(ToolCatalogResolved { tools: Some(tools.collect()) })
    }

    pub fn tooling(&self, name: &str) -> Option<Tooling<'_>> {
        if let Some(ours) = self.ours().find(|known| known.tool.definition().name == name) {
            return Some(of_ours(ours));
        }
        if let Some(agent) = self.spec.subagents.iter().find(|known| *known == name) {
            return Some(Tooling::Subagent(agent));
        }
        let handoff = name.strip_prefix(TRANSFER);
        if let Some(agent) = self.spec.handoffs.iter().find(|known| Some(known.as_str()) == handoff) {
            return Some(Tooling::Handoff(agent));
        }
        let client = self.settings.tools.iter().find(|tool| tool["name"] == name);
        let schema = match client {
            Some(client) => client["parameters"].clone(),
            // A service may know functions from elsewhere; nobody but the caller can run them.
            None if self.is_gateway => json!({}),
            None => return None,
        };
        let waits = self.settings.client_tools.as_deref() == Some("wait");
        Some(Tooling::Client { schema, waits })
    }

    /// True if the model has anything to call.
    pub fn has_tools(&self) -> bool {
        let has_agents = !self.spec.subagents.is_empty() || !self.spec.handoffs.is_empty();
        has_agents || !self.settings.tools.is_empty() || self.ours().next().is_some()
    }

    /// The tools as the model is told of them. An earlier name hides a later one.
    pub fn tools(&self, registry: &Registry) -> Vec<ToolSpec> {
        let ours = self.ours().map(|known| {
            let definition = known.tool.definition();
            spec(&definition.name, &definition.description, definition.parameters.clone())
        });
        let about =
            |name: &str| registry.agents.get(name).map(|agent| agent.description.clone()).unwrap_or_default();
        let subagents = self.spec.subagents.iter().map(|name| spec(name, &about(name), subagent_schema()));
        let handoffs = self.spec.handoffs.iter().map(|name| {
            let about = format!("Hand the conversation to {name}. {}", about(name));
            spec(&format!("{TRANSFER}{name}"), about.trim(), handoff_schema())
        });
        let client = self.settings.tools.iter().filter_map(client_tool);
        let mut tools: Vec<ToolSpec> = Vec::new();
        for tool in ours.chain(subagents).chain(handoffs).chain(client) {
            if tools.iter().all(|known| known.name != tool.name) {
                tools.push(tool);
            }
        }
        tools
    }

    pub fn tool_choice(&self) -> ToolChoice {
        match &self.settings.tool_choice {
            Some(Value::String(word)) if word == "none" => ToolChoice::None,
            Some(Value::String(word)) if word == "required" || word == "any" => ToolChoice::Required,
            Some(Value::Object(choice)) => match choice.get("name").and_then(Value::as_str) {
                Some(name) => ToolChoice::Named(name.to_owned()),
                None => ToolChoice::Auto,
            },
            Some(_) | None => ToolChoice::Auto,
        }
    }

    pub fn instructions(&self) -> Option<String> {
        let citing = self.spec.references.explanation();
        let parts =
            [self.spec.instructions.as_deref(), citing.as_deref(), self.settings.instructions.as_deref()];
        let parts: Vec<&str> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
        (!parts.is_empty()).then(|| parts.join("\n\n"))
    }

    /// True if pieces of text are never joined.
    pub fn sends_deltas_as_sent(&self) -> bool {
        self.settings.deltas.unwrap_or(self.spec.deltas) == Deltas::AsSent
    }

    pub fn output_schema(&self) -> Option<&Value> {
        self.settings.output_schema.as_ref().or(self.spec.output_schema.as_ref())
    }

    /// The provider and the model at this place of the agent's list.
    pub fn model<'a>(
        &self,
        registry: &'a Registry,
        model_index: usize,
    ) -> Option<(&'a Arc<dyn Provider>, String)> {
        let (provider, model) = self.spec.models.get(model_index)?.split_once('/')?;
        Some((registry.providers.get(provider)?, model.to_owned()))
    }
}

/// What a sub-agent takes.
pub(crate) fn subagent_schema() -> Value {
    json!({
        "type": "object",
        "properties": {"input": {"type": "string", "description": "What the agent is asked to do."}},
        "required": ["input"],
        "additionalProperties": false,
    })
}

/// A handoff takes nothing: the other agent reads the conversation.
fn handoff_schema() -> Value {
    json!({"type": "object", "properties": {}, "additionalProperties": false})
}

/// Another agent as what a decision is bound to. What it does, its own policy guards.
fn agent_definition(name: &str, source: &str, parameters: Value) -> ToolDefinition {
    ToolDefinition {
        name: name.to_owned(),
        description: String::new(),
        parameters,
        flags: Flags { read_only: false, destructive: false, idempotent: false, open_world: false },
        timeout: std::time::Duration::ZERO,
        source: source.to_owned(),
        runs: Runs::default(),
    }
}

/// The caller runs what the server only knows of. A tool that the policy denies is the server's to refuse.
fn of_ours(ours: &ToolUse) -> Tooling<'_> {
    let definition = ours.tool.definition();
    if definition.is_client_run() && !matches!(ours.approval, Approval::Denied(_)) {
        return Tooling::Client { schema: definition.parameters.clone(), waits: true };
    }
    Tooling::Ours(ours)
}

fn described(used: &ToolUse, is_away: bool) -> ToolDescription {
    const LONGEST: usize = 200;
    let definition = used.tool.definition();
    let policy = match &used.approval {
        _ if is_away => "unavailable",
        Approval::Denied(_) => "denied",
        Approval::Never => "allowed",
        Approval::Policy if !definition.flags.destructive || definition.flags.read_only => "allowed",
        Approval::Policy | Approval::Always | Approval::Asked(_) | Approval::Predicate(_) => "ask",
    };
    ToolDescription {
        tool_name: Some(definition.name.clone()),
        description: Some(definition.description.chars().take(LONGEST).collect()),
        policy: Some(policy.to_owned()),
        runtime_owner: Some(definition.source.clone()),
        is_read_only: Some(definition.flags.read_only),
        is_concurrency_safe: Some(definition.flags.read_only),
        is_destructive: Some(definition.flags.destructive && !definition.flags.read_only),
        is_idempotent: Some(definition.effect() == Effect::Repeatable),
        ..ToolDescription::default()
    }
}

fn spec(name: &str, description: &str, parameters: Value) -> ToolSpec {
    ToolSpec { name: name.to_owned(), description: description.to_owned(), parameters, strict: false }
}

fn client_tool(tool: &Value) -> Option<ToolSpec> {
    let text = |name: &str| tool[name].as_str().unwrap_or_default();
    let name = tool["name"].as_str()?;
    let parameters = match &tool["parameters"] {
        Value::Null => json!({"type": "object", "properties": {}}),
        parameters => parameters.clone(),
    };
    let strict = tool["strict"].as_bool().unwrap_or(false);
    Some(ToolSpec { strict, ..spec(name, text("description"), parameters) })
}
