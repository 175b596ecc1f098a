//! The events of AG-UI 1.0 that are sent, as they stand on the wire. Optional members are absent, never null.

use serde::Serialize;
use serde_json::Value;

use super::message::Message;

#[derive(Debug, Serialize)]
pub(super) struct Stamped<'a> {
    #[serde(flatten)]
    pub(super) event: Event<'a>,
    /// The timestamp of its event in milliseconds.
    pub(super) timestamp: i64,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "SCREAMING_SNAKE_CASE", rename_all_fields = "camelCase")]
pub(super) enum Event<'a> {
    RunStarted {
        thread_id: &'a str,
        run_id: String,
        protocol_version: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_run_id: Option<&'a str>,
    },
    RunFinished {
        thread_id: &'a str,
        run_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<Value>,
        outcome: Outcome,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        usage: Vec<TokenUsage>,
    },
    RunError {
        message: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<&'a str>,
    },
    ActivitySnapshot {
        message_id: String,
        activity_type: &'static str,
        content: Value,
        #[serde(skip_serializing_if = "Option::is_none")]
        subagent_run_id: Option<&'a str>,
    },
    StepStarted {
        step_name: String,
    },
    StepFinished {
        step_name: String,
    },
    TextMessageStart {
        message_id: String,
        role: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        subagent_run_id: Option<&'a str>,
    },
    TextMessageContent {
        message_id: String,
        delta: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        subagent_run_id: Option<&'a str>,
    },
    TextMessageEnd {
        message_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        subagent_run_id: Option<&'a str>,
    },
    ReasoningStart {
        message_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        subagent_run_id: Option<&'a str>,
    },
    ReasoningMessageStart {
        message_id: String,
        role: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        subagent_run_id: Option<&'a str>,
    },
    ReasoningMessageContent {
        message_id: String,
        delta: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        subagent_run_id: Option<&'a str>,
    },
    ReasoningMessageEnd {
        message_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        subagent_run_id: Option<&'a str>,
    },
    ReasoningEnd {
        message_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        subagent_run_id: Option<&'a str>,
    },
    ToolCallStart {
        tool_call_id: &'a str,
        tool_call_name: &'a str,
        parent_message_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        subagent_run_id: Option<&'a str>,
    },
    ToolCallArgs {
        tool_call_id: &'a str,
        delta: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        subagent_run_id: Option<&'a str>,
    },
    ToolCallEnd {
        tool_call_id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        subagent_run_id: Option<&'a str>,
    },
    ToolCallResult {
        message_id: String,
        tool_call_id: &'a str,
        content: Value,
        role: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        subagent_run_id: Option<&'a str>,
    },
    SubagentStarted {
        subagent_run_id: &'a str,
        name: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_subagent_run_id: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_tool_call_id: Option<&'a str>,
    },
    SubagentFinished {
        subagent_run_id: &'a str,
        outcome: SubagentOutcome<'a>,
    },
    SubagentError {
        subagent_run_id: &'a str,
        message: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<&'a str>,
    },
    StateSnapshot {
        snapshot: serde_json::Value,
    },
    StateDelta {
        delta: serde_json::Value,
    },
    MessagesSnapshot {
        messages: Vec<Message>,
    },
    Custom {
        name: &'static str,
        value: serde_json::Value,
        #[serde(skip_serializing_if = "Option::is_none")]
        subagent_run_id: Option<&'a str>,
    },
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(super) enum Outcome {
    Success {
        /// Calls that the application runs; their results come with its next run.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pending_tool_call_ids: Vec<String>,
    },
    Interrupt {
        interrupts: Vec<Interrupt>,
    },
    Cancelled,
}

impl Outcome {
    /// True for a run that leaves nothing to be done.
    pub(super) fn is_whole(&self) -> bool {
        matches!(self, Outcome::Success { pending_tool_call_ids } if pending_tool_call_ids.is_empty())
    }
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(super) enum SubagentOutcome<'a> {
    Success,
    Suspended {
        #[serde(skip_serializing_if = "Vec::is_empty")]
        interrupt_ids: Vec<&'a str>,
    },
}

/// A decision that the run waits for.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Interrupt {
    pub(super) id: String,
    pub(super) reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_call_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) response_schema: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) expires_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) metadata: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) subagent_run_id: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TokenUsage {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) total_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cached_input_tokens: Option<u64>,
}
