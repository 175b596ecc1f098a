//! What a client of a foreign dialect asks for, in words that the runner and the gateway share.
//!
//! Each foreign dialect has a `request.rs` that reads its JSON into a [`ModelCall`], or says with a [`RequestFailure`]
//! what is wrong and where. `Dialect::error_body` writes a failure in the dialect's own shape.
//!
//! ```text
//!   POST body ──▶ responses::request::decode ──▶ ModelCall ──▶ turn.submitted { input, request } ──▶ log
//!                                                                                        │
//!   the client's frames  ◀── Dialect::projector ◀────────────────────────────────────────┘
//! ```
//!
//! `turn.submitted` carries [`ModelCall::request`] under `payload.request`, so that what a response echoes (model,
//! instructions, tools, …) follows from the log alone.

mod conversation;
pub(crate) mod reader;

pub use conversation::items;

use riverrun_event::{Input, Part, RawJson};
use serde::Serialize;

/// One model call, or one turn of a hosted agent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelCall {
    /// `agent/NAME`, `PROVIDER/MODEL` or `scripted/SCENARIO`.
    pub model: String,
    /// The history and the new input, oldest first.
    pub input: Vec<InputItem>,
    pub instructions: Option<String>,
    /// The functions that the client runs itself.
    pub tools: Vec<RequestedTool>,
    pub tool_choice: RequestedToolChoice,
    pub parallel_tool_calls: Option<bool>,
    /// The response that this one goes on from (`previous_response_id`).
    pub previous: Option<String>,
    /// The conversation that this one goes on with.
    pub conversation: Option<String>,
    /// The server-held conversation that this one begins or continues (Anthropic's `thread`).
    pub thread: Option<MessageThread>,
    pub stream: bool,
    /// True if the turn goes on without a reader and the answer may come before its end.
    pub background: bool,
    pub store: Option<bool>,
    pub metadata: Option<RawJson>,
    pub max_output_tokens: Option<u64>,
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
    pub stop: Vec<String>,
    /// A place in an earlier stream from which this one goes on (Gemini's `continuationToken`).
    pub continuation: Option<String>,
    /// The JSON Schema that the answer must fit.
    pub output_schema: Option<RawJson>,
    /// `low`, `medium`, `high`, or what the dialect has.
    pub reasoning_effort: Option<String>,
    /// The types of tools and choices that are no functions: only a service of the same dialect knows them.
    pub hosted: Vec<String>,
    /// Why nobody but a service of the same dialect can take this call: its content has parts that only that one knows.
    pub unknown: Vec<RequestFailure>,
    /// Where the request carries keys of other services, which the log must not have.
    pub secrets: Vec<String>,
    /// Members that are not known here, verbatim.
    pub extra: Vec<(String, RawJson)>,
    /// The whole request but for the model and how it is answered, verbatim.
    pub verbatim: Vec<(String, RawJson)>,
    /// What `turn.submitted` keeps: `{"dialect":…,"body":{…}}`, the request without its input and its secrets.
    pub request: RawJson,
}

/// Anthropic's `thread`: the server holds the conversation, and a request brings only what is new.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageThread {
    Create,
    /// Continues after the message with this id.
    Continue(String),
}

/// One entry of the history, whoever's format it came in.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum InputItem {
    User {
        parts: Vec<Part>,
    },
    Assistant {
        parts: Vec<Part>,
    },
    System {
        text: String,
    },
    Developer {
        text: String,
    },
    /// The provider's own form, replayed verbatim.
    Reasoning {
        opaque: RawJson,
    },
    ToolCall {
        call_id: String,
        name: String,
        /// The exact text that the model wrote.
        arguments: String,
    },
    ToolResult {
        call_id: String,
        parts: Vec<Part>,
        is_error: bool,
    },
    /// The answer to an action.
    Decision {
        action_id: String,
        approve: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// An entry that has no words here, verbatim.
    Other {
        opaque: RawJson,
    },
}

/// A message of the list that a chat's client keeps itself, as entries of a history.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ListedMessage {
    /// The client's id of it, or ours if it came from here.
    pub id: String,
    pub items: Vec<InputItem>,
}

/// The result of a function that the client ran.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionOutput {
    pub call_id: String,
    /// Its output, or why it failed.
    pub result: Result<RawJson, String>,
}

/// A function that the client runs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RequestedTool {
    pub name: String,
    pub description: Option<String>,
    /// The JSON Schema of the arguments.
    pub parameters: Option<RawJson>,
    pub strict: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum RequestedToolChoice {
    #[default]
    Auto,
    None,
    /// Some tool must be called.
    Required,
    /// This tool must be called.
    Named(String),
    /// Another rule of the dialect, verbatim.
    Other(RawJson),
}

impl ModelCall {
    /// The new input: the parts of the last user message. Tool results and decisions have none.
    pub fn turn_input(&self) -> Input {
        let parts = match self.input.iter().rev().find(|item| matches!(item, InputItem::User { .. })) {
            Some(InputItem::User { parts }) => parts.as_slice(),
            Some(_) | None => &[],
        };
        match parts {
            [] => Input::from(""),
            [only] if matches!(only, Part::Text(_)) => Input::from(only.text().unwrap_or_default()),
            parts => Input::Parts(parts.to_vec()),
        }
    }
}

/// Why a request is refused. The dialect renders it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RequestFailure {
    pub status: u16,
    /// A stable name of what is wrong.
    pub code: String,
    pub message: String,
    /// The member that is wrong, as a path: `input[2].content[0].text`.
    pub param: Option<String>,
    /// When the same request may succeed, if known.
    pub retry_after_seconds: Option<u64>,
}

impl RequestFailure {
    pub fn new(status: u16, code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { status, code: code.into(), message: message.into(), param: None, retry_after_seconds: None }
    }

    pub fn param(mut self, path: impl Into<String>) -> Self {
        self.param = Some(path.into());
        self
    }
}

/// Members that say how the answer comes; they are never sent on.
pub(crate) const ABOUT_THE_ANSWER: [&str; 5] =
    ["model", "stream", "stream_options", "background", "previous_response_id"];

/// The member at a path of a raw value; None if it is not there or null.
pub(crate) fn inside(value: Option<&RawJson>, path: &[&str]) -> Option<serde_json::Value> {
    let whole: serde_json::Value = value?.to().ok()?;
    let found = path.iter().try_fold(&whole, |value, name| value.get(name))?;
    (!found.is_null()).then(|| found.clone())
}

/// The same, as a text.
pub(crate) fn text_inside(value: Option<&RawJson>, path: &[&str]) -> Option<String> {
    inside(value, path)?.as_str().map(str::to_owned)
}

/// The same, as it stands.
pub(crate) fn raw_inside(value: Option<&RawJson>, path: &[&str]) -> Option<RawJson> {
    RawJson::of(&inside(value, path)?).ok()
}

/// A member that nobody took.
pub(crate) fn member<'a>(extra: &'a [(String, RawJson)], name: &str) -> Option<&'a RawJson> {
    extra.iter().find(|(known, _)| known == name).map(|(_, value)| value)
}

/// Members by which other gateways let a caller choose a service, its address and its key.
const ROUTING: [&str; 14] = [
    "api_base",
    "api_key",
    "api_type",
    "api_version",
    "apiKey",
    "baseURL",
    "base_url",
    "custom_llm_provider",
    "default_headers",
    "extra_body",
    "extra_headers",
    "extra_query",
    "headers",
    "organization",
];

/// Where a request goes, and with which key, is the server's to say: a caller who could would be sent its key.
pub(crate) fn refuse_routing(extra: &[(String, RawJson)]) -> Result<(), RequestFailure> {
    let Some((name, _)) = extra.iter().find(|(name, _)| ROUTING.contains(&name.as_str())) else {
        return Ok(());
    };
    let message = format!(
        "`{name}` is not taken from a request; leave it out, declare the service under [providers] in riverrun.toml, and ask for the model as `PROVIDER/MODEL`"
    );
    Err(RequestFailure::new(400, "unsupported_parameter", message).param(name.clone()))
}

/// Appends `{"dialect":…,"body":{…}}`.
pub(crate) fn request_member(dialect: &str, body: &[(String, RawJson)]) -> RawJson {
    let mut out = String::from("{\"dialect\":");
    riverrun_event::json::write_string(&mut out, dialect);
    out.push_str(",\"body\":{");
    for (at, (name, value)) in body.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        riverrun_event::json::write_string(&mut out, name);
        out.push(':');
        out.push_str(value.get());
    }
    out.push_str("}}");
    RawJson::parse(out).expect("its members were read as JSON")
}
