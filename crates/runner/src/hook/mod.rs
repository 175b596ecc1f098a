//! Hooks: code of the operator that is asked at certain points of a turn, and may change or stop what comes next.
//!
//! A hook may be asked again for the same point if the server died while it was asked, so it must not mind: the
//! input names each asking with a key that stays the same.

mod by_tool;
mod closure;
mod output;
mod pattern;

use std::sync::Arc;
use std::time::Duration;

use riverrun_event::Input;
use serde::Serialize;
use serde_json::Value;

pub use by_tool::ToolHook;
pub use closure::IntoHookOutput;
pub use output::{HookDecision, HookOutput};
pub use pattern::fits;

/// Answers at the points for which it is used.
pub trait Hook: Send + Sync + 'static {
    /// Err says why there is no answer; what that means is up to [`HookUse::on_failure`].
    fn ask(&self, input: HookInput) -> HookFuture<'_>;
}

pub type HookFuture<'a> = std::pin::Pin<Box<dyn Future<Output = Result<HookOutput, String>> + Send + 'a>>;

/// Where a hook is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HookPoint {
    /// Before the first model call of a turn.
    UserPromptSubmit,
    /// Before a call of a tool is judged, and before anybody is asked about it.
    PreToolUse,
    /// After a tool ran well, before its result is read.
    PostToolUse,
    /// After a tool failed, before that is read.
    PostToolFailure,
    /// Before a turn ends with the model's last word.
    Stop,
}

impl HookPoint {
    pub const ALL: [HookPoint; 5] = [
        HookPoint::UserPromptSubmit,
        HookPoint::PreToolUse,
        HookPoint::PostToolUse,
        HookPoint::PostToolFailure,
        HookPoint::Stop,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            HookPoint::UserPromptSubmit => "user_prompt_submit",
            HookPoint::PreToolUse => "pre_tool_use",
            HookPoint::PostToolUse => "post_tool_use",
            HookPoint::PostToolFailure => "post_tool_failure",
            HookPoint::Stop => "stop",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|point| point.as_str() == word)
    }

    /// What could do harm does not go on without its hook.
    pub fn default_on_failure(self) -> OnFailure {
        match self {
            HookPoint::UserPromptSubmit | HookPoint::PreToolUse => OnFailure::Block,
            HookPoint::PostToolUse | HookPoint::PostToolFailure | HookPoint::Stop => OnFailure::Allow,
        }
    }
}

/// What a hook that gives no usable answer means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFailure {
    Block,
    /// It goes on as if the hook had said nothing, with a warning.
    Allow,
}

/// A hook of an agent, and when it is asked.
#[derive(Clone)]
pub struct HookUse {
    /// Unique among the hooks of an agent.
    pub name: String,
    pub points: Vec<HookPoint>,
    /// Names of tools, `*` for anything; none: all tools.
    pub tools: Vec<String>,
    pub hook: Arc<dyn Hook>,
    pub timeout: Duration,
    /// None: as the point has it.
    pub on_failure: Option<OnFailure>,
}

const TIMEOUT: Duration = Duration::from_secs(10);

impl HookUse {
    pub fn of(name: impl Into<String>, points: impl Into<Vec<HookPoint>>, hook: Arc<dyn Hook>) -> Self {
        let (name, points) = (name.into(), points.into());
        Self { name, points, tools: Vec::new(), hook, timeout: TIMEOUT, on_failure: None }
    }

    /// Only for calls of these tools; `*` stands for anything.
    pub fn tools(mut self, names: &[&str]) -> Self {
        self.tools = names.iter().map(|name| (*name).to_owned()).collect();
        self
    }

    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    pub fn on_failure(mut self, on_failure: OnFailure) -> Self {
        self.on_failure = Some(on_failure);
        self
    }

    /// Asked at this point, about this tool.
    pub(crate) fn is_for(&self, point: HookPoint, tool: Option<&str>) -> bool {
        let fits_tool = |tool| self.tools.is_empty() || self.tools.iter().any(|known| fits(known, tool));
        self.points.contains(&point) && tool.is_none_or(fits_tool)
    }

    pub(crate) fn if_failed(&self, point: HookPoint) -> OnFailure {
        self.on_failure.unwrap_or(point.default_on_failure())
    }
}

/// What a hook is asked. It is made of what the session's log has, so it holds no key of the server.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HookInput {
    pub hook: String,
    pub point: HookPoint,
    pub session_id: String,
    pub thread_id: String,
    pub turn_id: String,
    pub task_id: String,
    pub agent: String,
    /// The same if the hook is asked again because the server died meanwhile.
    pub idempotency_key: String,
    /// At `user_prompt_submit`: what the turn is asked, a text or parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Input>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// The arguments of the call, as hooks before this one left them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    /// At `post_tool_use` and `post_tool_failure`: what the model would read, a text or parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Input>,
    /// At `stop`: the model's last word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub final_output: Option<String>,
    /// At `stop`: how often hooks did not let this turn end before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stops: Option<u32>,
}
