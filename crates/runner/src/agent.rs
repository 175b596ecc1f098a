//! What an agent is.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use riverrun_provider::HistoryEntry;
use riverrun_tool::Tool;
use serde_json::Value;

use crate::Deltas;
use crate::hook::HookUse;
use crate::reference::{ReferenceMode, References};

/// A configured agent. Names of models are `PROVIDER/MODEL` or `scripted/SCENARIO`.
#[derive(Clone, Default)]
pub struct AgentSpec {
    pub name: String,
    pub description: String,
    pub instructions: Option<String>,
    /// The model, and those to fall back on, in order.
    pub models: Vec<String>,
    pub tools: Vec<ToolUse>,
    /// Tools beside these that come and go.
    pub toolboxes: Vec<Arc<dyn Toolbox>>,
    /// Agents that this one may call as tools.
    pub subagents: Vec<String>,
    /// Agents that this one may hand the conversation to.
    pub handoffs: Vec<String>,
    /// When a person must agree before one of these is called, by the name that the model calls. Nobody is asked about
    /// one that is not here.
    pub agent_approvals: BTreeMap<String, Approval>,
    /// What the model reads of a call that was rejected without a word of the person's; a plain sentence without it.
    pub rejection: Option<RejectionFormatter>,
    /// A call of a tool that is not there fails the task, instead of an error that the model reads.
    pub fails_on_unknown_tool: bool,
    pub guardrails: Vec<Arc<dyn Guardrail>>,
    /// Asked in this order.
    pub hooks: Vec<HookUse>,
    /// Makes of what was said before and of the new input what the model reads; one behind the other without it.
    pub merge: Option<Merge>,
    pub limits: Limits,
    pub references: References,
    /// What goes before `references.mode`, by the name that the model calls; `SERVER` stands for all of `SERVER__tool`.
    pub tool_references: BTreeMap<String, ReferenceMode>,
    /// How pieces of text become deltas, for turns that do not say.
    pub deltas: Deltas,
    /// What people read that no model wrote, by language and name; `default` is for every language.
    pub texts: Texts,
    pub output_schema: Option<Value>,
    pub reasoning_effort: Option<String>,
    pub temperature: Option<f64>,
    pub max_output_tokens: Option<u64>,
    /// Tokens of history at which older turns are replaced by a summary.
    pub compact_at_tokens: Option<u64>,
    /// Keep what each model call was asked and what its service answered, as blobs.
    pub keep_raw: bool,
}

/// Texts by language and name. The label of a tool has the name `tool.NAME`, and may take arguments: `{argument}`.
pub type Texts = BTreeMap<String, BTreeMap<String, String>>;

/// Stands before the name of an agent to hand the conversation to.
pub const TRANSFER: &str = "transfer_to_";

/// A tool in an agent's hands, and when a person must agree.
#[derive(Clone)]
pub struct ToolUse {
    pub tool: Arc<dyn Tool>,
    pub approval: Approval,
}

/// Tools of a server that may be away, or that changes what it offers.
pub trait Toolbox: Send + Sync + 'static {
    /// Stands before the names of its tools: `NAME__tool`.
    fn name(&self) -> &str;

    /// The tools as they were last listed.
    fn tools(&self) -> Arc<[ToolUse]>;

    /// Why the server cannot be reached now.
    fn problem(&self) -> Option<String>;
}

impl AgentSpec {
    /// Which results of this tool get a number.
    pub fn reference_mode(&self, tool: &str) -> ReferenceMode {
        let server = || tool.split_once("__").and_then(|(server, _)| self.tool_references.get(server));
        let declared = self.tool_references.get(tool).or_else(server);
        declared.copied().unwrap_or(self.references.mode())
    }

    /// All tools of the server's, those that come and go as they are now.
    pub fn tools_now(&self) -> Vec<ToolUse> {
        let boxes = self.toolboxes.iter().map(|toolbox| toolbox.tools());
        self.tools.iter().cloned().chain(boxes.flat_map(|tools| tools.to_vec())).collect()
    }
}

#[derive(Clone, Default)]
pub enum Approval {
    /// As the policy says: calls that may destroy something need a person.
    #[default]
    Policy,
    Never,
    Always,
    /// Somebody must agree to every call; the text names the pattern or the declaration that says so.
    Asked(String),
    /// The policy forbids the tool; deny beats allow.
    Denied(String),
    /// Asked with the call. One that fails or panics counts as "a person must agree".
    Predicate(Predicate),
}

/// Says of a call whether a person must agree. It is asked anew after a restart, and must not block.
pub type Predicate = Arc<dyn Fn(&AskedCall<'_>) -> Result<bool, String> + Send + Sync>;

/// A call that is to run, and whose it is.
#[derive(Debug, Clone, Copy)]
pub struct AskedCall<'a> {
    pub session: &'a str,
    pub turn: &'a str,
    pub task: &'a str,
    pub agent: &'a str,
    pub call_id: &'a str,
    pub tool: &'a str,
    pub arguments: &'a Value,
}

/// Words for the model; None leaves it at the usual ones.
pub type RejectionFormatter = Arc<dyn Fn(&Rejection<'_>) -> Option<String> + Send + Sync>;

/// A call that was rejected.
#[derive(Debug, Clone, Copy)]
pub struct Rejection<'a> {
    pub agent: &'a str,
    pub call_id: &'a str,
    pub tool: &'a str,
    /// Who rejected it: `person`, or `rule` for one who did so for always.
    pub source: &'a str,
    /// What the model reads without a formatter.
    pub usual: &'a str,
}

/// What becomes of an action that nobody decides in time. It is never an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnTimeout {
    /// The call is rejected, and the model reads so.
    #[default]
    Reject,
    /// The turn fails with `action_timeout`.
    Fail,
}

/// Given the turns before and the input of this one, in this order, answers what the model reads. What it says and
/// reads in this turn comes behind that. It is asked before every model call, and again after a restart: the same
/// question must have the same answer. Err fails the turn.
pub type Merge =
    Arc<dyn Fn(Vec<HistoryEntry>, Vec<HistoryEntry>) -> Result<Vec<HistoryEntry>, String> + Send + Sync>;

#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Model calls in one turn.
    pub steps: u32,
    /// Tokens of one turn.
    pub tokens: Option<u64>,
    /// Cost of one turn, in US dollars.
    pub cost: Option<f64>,
    pub time: Option<Duration>,
    pub depth: u32,
    pub children: u32,
    /// Tool calls of one answer that are run; the model reads an error for those beyond.
    pub calls: u32,
    /// How long an action waits for its decision.
    pub action_timeout: Duration,
    pub on_action_timeout: OnTimeout,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: 10,
            tokens: None,
            cost: None,
            time: None,
            depth: 4,
            children: 64,
            calls: 128,
            action_timeout: Duration::from_secs(300),
            on_action_timeout: OnTimeout::Reject,
        }
    }
}

/// A check at the door: of the input, of the final output, of a tool call before or after it ran.
pub trait Guardrail: Send + Sync + 'static {
    fn name(&self) -> &str;

    /// Err says why the turn must not go on; a tool call is refused with it instead.
    fn check<'a>(&'a self, checked: Checked<'a>) -> GuardrailFuture<'a>;
}

pub type GuardrailFuture<'a> = std::pin::Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>>;

#[derive(Debug, Clone, Copy)]
pub enum Checked<'a> {
    Input(&'a str),
    Output(&'a str),
    ToolCall { name: &'a str, arguments: &'a Value },
    ToolResult { name: &'a str, text: &'a str },
}
