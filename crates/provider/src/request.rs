//! What a model is asked, in no provider's words.

use riverrun_event::{Part, RawJson};
use serde_json::{Map, Value};

#[derive(Debug, Clone, Default)]
pub struct ModelRequest {
    pub model: String,
    pub instructions: Option<String>,
    pub history: Vec<HistoryEntry>,
    pub tools: Vec<ToolSpec>,
    pub tool_choice: ToolChoice,
    pub parallel_tool_calls: Option<bool>,
    /// The JSON Schema that the final message must fit.
    pub output_schema: Option<Value>,
    pub max_output_tokens: Option<u64>,
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
    pub stop: Vec<String>,
    /// `low`, `medium`, `high`, or what the service knows.
    pub reasoning_effort: Option<String>,
    /// Members of the caller's own request that are not known here; sent along as they are.
    pub extra: Map<String, Value>,
    /// The caller's whole request, in this service's own words: it is sent as it is, but for what a call from here
    /// needs. The history is then what was said before it, and goes before it; of the rest only the model is looked at.
    pub verbatim: Option<Map<String, Value>>,
    /// Names this call to the service, so that a repeated request is not served twice where it knows how.
    pub idempotency_key: Option<String>,
    /// Give the service's bytes along as [`ModelEvent::Raw`](crate::ModelEvent::Raw).
    pub keep_raw: bool,
    /// Give the events of the service's stream along, where it speaks Responses: as
    /// [`ModelEvent::Original`](crate::ModelEvent::Original) and [`ModelEvent::Sent`](crate::ModelEvent::Sent).
    pub keep_events: bool,
}

/// One entry of the conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum HistoryEntry {
    System {
        text: String,
    },
    User {
        parts: Vec<Part>,
    },
    Assistant {
        parts: Vec<Part>,
        opaque: Option<RawJson>,
    },
    /// What the model thought; `opaque` goes back verbatim to the provider that made it and to no other.
    Reasoning {
        summary: Vec<String>,
        text: Option<String>,
        provider: String,
        opaque: Option<RawJson>,
    },
    ToolCall {
        call_id: String,
        name: String,
        arguments: String,
        opaque: Option<RawJson>,
    },
    ToolResult {
        call_id: String,
        name: String,
        parts: Vec<Part>,
        is_error: bool,
    },
    /// What a service did itself; it goes back verbatim to the provider that made it and to no other.
    Hosted {
        provider: String,
        object: RawJson,
    },
    /// What the caller said in an earlier request, in this service's own words.
    Given {
        object: RawJson,
    },
}

/// A tool as the model is told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// The JSON Schema of the arguments.
    pub parameters: Value,
    pub strict: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ToolChoice {
    #[default]
    Auto,
    None,
    Required,
    Named(String),
}
