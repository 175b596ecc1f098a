//! An agent as a value.

use std::sync::Arc;

use riverrun_provider::HistoryEntry;
use riverrun_runner::AgentSpec;
use riverrun_runner::agent::{Approval, Guardrail, Limits, Rejection, ToolUse};
use riverrun_runner::hook::HookUse;
use riverrun_runner::reference::References;
use riverrun_tool::{McpServer, Tool};
use schemars::JsonSchema;
use serde_json::Value;

/// An agent: a model, what it is told, and what it may use.
#[derive(Clone)]
pub struct Agent {
    pub(super) spec: AgentSpec,
    /// Agents that came with this one.
    pub(super) others: Vec<Agent>,
    /// Servers whose tools it has once the runtime starts.
    pub(super) servers: Vec<(Arc<McpServer>, Approval)>,
}

impl Agent {
    /// Letters, digits, `_` and `-`: others call it by this name.
    pub fn new(name: impl Into<String>) -> Self {
        let spec = AgentSpec { name: name.into(), ..AgentSpec::default() };
        Self { spec, others: Vec::new(), servers: Vec::new() }
    }

    /// The name of the agent.
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// What other agents are told of it.
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.spec.description = text.into();
        self
    }

    /// What the model is told before the conversation.
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.spec.instructions = Some(text.into());
        self
    }

    /// `PROVIDER/MODEL`, or `scripted/SCENARIO`. Called again, it adds a model to fall back on.
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.spec.models.push(model.into());
        self
    }

    /// A tool. A call that may destroy something waits for a person; see [`Agent::tool_with`].
    pub fn tool(self, tool: impl Tool) -> Self {
        self.tool_with(tool, Approval::Policy)
    }

    /// Adds a tool whose calls need this approval.
    pub fn tool_with(self, tool: impl Tool, approval: Approval) -> Self {
        self.shared_tool(Arc::new(tool), approval)
    }

    /// A tool that several agents share.
    pub fn shared_tool(mut self, tool: Arc<dyn Tool>, approval: Approval) -> Self {
        self.spec.tools.push(ToolUse { tool, approval });
        self
    }

    /// All tools of an MCP server, named `SERVER__TOOL`, as it offers them at each moment. What the server says of
    /// them counts only with `McpConfig::trust_hints`; without it every call waits for a person.
    pub fn mcp(self, server: Arc<McpServer>) -> Self {
        self.mcp_with(server, Approval::Policy)
    }

    /// Adds the tools of an MCP server, whose calls need this approval.
    pub fn mcp_with(mut self, server: Arc<McpServer>, approval: Approval) -> Self {
        self.servers.push((server, approval));
        self
    }

    /// An agent that this one may call as a tool.
    pub fn sub_agent(mut self, agent: Agent) -> Self {
        self.spec.subagents.push(agent.spec.name.clone());
        self.others.push(agent);
        self
    }

    /// The same, for an agent that is given elsewhere.
    pub fn sub_agent_named(mut self, name: impl Into<String>) -> Self {
        self.spec.subagents.push(name.into());
        self
    }

    /// An agent that this one may hand the conversation to. The model calls it `transfer_to_NAME`.
    pub fn handoff(mut self, agent: Agent) -> Self {
        self.spec.handoffs.push(agent.spec.name.clone());
        self.others.push(agent);
        self
    }

    /// The same, for an agent that is given elsewhere: also back to one that handed over to this one.
    pub fn handoff_to(mut self, name: impl Into<String>) -> Self {
        self.spec.handoffs.push(name.into());
        self
    }

    /// Adds a check of inputs, tool calls, tool results and outputs.
    pub fn guardrail(mut self, guardrail: impl Guardrail) -> Self {
        self.spec.guardrails.push(Arc::new(guardrail));
        self
    }

    /// Asked at its points, in the order in which hooks are given.
    pub fn hook(mut self, hook: HookUse) -> Self {
        self.spec.hooks.push(hook);
        self
    }

    /// Decides what the model reads of the conversation: gets what was said before and the new input, and answers
    /// what stands in the request; what the model says and reads in this run comes behind it. It is asked before every
    /// model call, also after a restart, so it must answer the same each time. Err fails the run (`history_refused`).
    pub fn merge_history(
        mut self,
        merge: impl Fn(Vec<HistoryEntry>, Vec<HistoryEntry>) -> Result<Vec<HistoryEntry>, String>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.spec.merge = Some(Arc::new(merge));
        self
    }

    /// Words what the model reads of a call that was rejected without a word of the person's. None leaves it at the
    /// usual sentence.
    pub fn rejection(
        mut self,
        words: impl Fn(&Rejection<'_>) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.spec.rejection = Some(Arc::new(words));
        self
    }

    /// A call of a tool that is not there fails the run (`unknown_tool`). Without it the model reads that there is none.
    pub fn fail_on_unknown_tool(mut self) -> Self {
        self.spec.fails_on_unknown_tool = true;
        self
    }

    /// What the model reads of what it can cite: the words around it, which of its sub-agents' sources, and whether it
    /// is told how to cite.
    pub fn references(mut self, references: References) -> Self {
        self.spec.references = references;
        self
    }

    /// Replaces the limits of a run.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.spec.limits = limits;
        self
    }

    /// Model calls in one run; 10 without it.
    pub fn max_steps(mut self, steps: u32) -> Self {
        self.spec.limits.steps = steps;
        self
    }

    /// The final output is JSON of this type; what does not fit goes back to the model.
    pub fn output_type<T: JsonSchema>(self) -> Self {
        self.output_schema(schemars::schema_for!(T).to_value())
    }

    /// Asks the model for JSON of this schema. The output is checked.
    pub fn output_schema(mut self, schema: Value) -> Self {
        self.spec.output_schema = Some(schema);
        self
    }

    /// Sets the sampling temperature.
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.spec.temperature = Some(temperature);
        self
    }

    /// Limits the tokens of each answer.
    pub fn max_output_tokens(mut self, tokens: u64) -> Self {
        self.spec.max_output_tokens = Some(tokens);
        self
    }

    /// Sets how long the model thinks, in the words of its service.
    pub fn reasoning_effort(mut self, effort: impl Into<String>) -> Self {
        self.spec.reasoning_effort = Some(effort.into());
        self
    }

    /// Keeps what each model call was asked and answered, byte for byte, beside the log.
    pub fn keep_raw(mut self) -> Self {
        self.spec.keep_raw = true;
        self
    }

    /// Tokens of history at which older turns are replaced by a summary.
    pub fn compact_at_tokens(mut self, tokens: u64) -> Self {
        self.spec.compact_at_tokens = Some(tokens);
        self
    }
}
