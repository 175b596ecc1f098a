//! What a tool gives back.

use riverrun_event::{Block, Part};
use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolOutput {
    /// What the model reads.
    pub content: Vec<Part>,
    /// What the user sees. A part that stands in both may be cited.
    pub block_list: Vec<Block>,
    /// The structured value, where the tool has one.
    pub structured: Option<Value>,
    /// The tool ran and says that it failed.
    pub is_error: bool,
}

impl ToolOutput {
    /// The same text for the model and the user.
    pub fn text(text: impl Into<String>) -> Self {
        let part = Block::plain(text);
        Self { content: vec![part.clone()], block_list: vec![part], ..Self::default() }
    }
}

/// Why a tool gave nothing back. The model reads the message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    pub kind: ToolErrorKind,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolErrorKind {
    UnknownTool,
    /// The arguments are not JSON or do not fit the schema.
    BadArguments,
    /// The tool itself failed.
    Failed,
    Timeout,
    /// The process or the connection went away.
    Crashed,
    /// The call was taken and its answer cannot be read: whether it had its effect is not known.
    OutcomeUnknown,
    /// The tool's server cannot be reached or refused us.
    Unavailable,
    /// A limit on output, memory or calls was passed.
    LimitPassed,
    /// The policy does not let it run.
    Denied,
    Cancelled,
}

impl ToolErrorKind {
    /// The word that events use.
    pub fn as_str(self) -> &'static str {
        match self {
            ToolErrorKind::UnknownTool => "unknown_tool",
            ToolErrorKind::BadArguments => "bad_arguments",
            ToolErrorKind::Failed => "tool_failed",
            ToolErrorKind::Timeout => "timeout",
            ToolErrorKind::Crashed => "crashed",
            ToolErrorKind::OutcomeUnknown => "outcome_unknown",
            ToolErrorKind::Unavailable => "unavailable",
            ToolErrorKind::LimitPassed => "limit_passed",
            ToolErrorKind::Denied => "denied",
            ToolErrorKind::Cancelled => "cancelled",
        }
    }
}

impl ToolError {
    pub fn new(kind: ToolErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}
