//! The chunks of the UI message stream v1 that are sent, as they stand on the wire.

use riverrun_event::{Block, RawJson};
use serde::Serialize;
use serde_json::Value;

/// A chunk whose name is not in the union fails the whole message; `data-*` is open.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(super) enum Chunk<'a> {
    Start {
        message_id: String,
        message_metadata: Value,
    },
    StartStep,
    FinishStep,
    TextStart {
        id: String,
    },
    TextDelta {
        id: String,
        delta: &'a str,
    },
    TextEnd {
        id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        provider_metadata: Option<Value>,
    },
    ReasoningStart {
        id: String,
    },
    ReasoningDelta {
        id: String,
        delta: &'a str,
    },
    ReasoningEnd {
        id: String,
    },
    ToolInputStart {
        tool_call_id: &'a str,
        tool_name: &'a str,
    },
    ToolInputDelta {
        tool_call_id: &'a str,
        input_text_delta: &'a str,
    },
    ToolInputAvailable {
        tool_call_id: &'a str,
        tool_name: &'a str,
        input: RawJson,
    },
    ToolInputError {
        tool_call_id: &'a str,
        tool_name: &'a str,
        input: &'a str,
        error_text: String,
    },
    ToolApprovalRequest {
        approval_id: &'a str,
        tool_call_id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    ToolApprovalResponse {
        approval_id: &'a str,
        approved: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    ToolOutputAvailable {
        tool_call_id: &'a str,
        output: Value,
    },
    ToolOutputError {
        tool_call_id: &'a str,
        error_text: String,
    },
    ToolOutputDenied {
        tool_call_id: &'a str,
    },
    SourceUrl {
        source_id: String,
        url: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<&'a str>,
    },
    SourceDocument {
        source_id: String,
        media_type: &'a str,
        title: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        filename: Option<&'a str>,
    },
    File {
        url: &'a str,
        media_type: &'a str,
    },
    #[serde(rename = "data-state")]
    State {
        id: &'static str,
        data: Value,
    },
    #[serde(rename = "data-riverrun-subagent")]
    Subagent {
        id: &'a str,
        data: Value,
    },
    #[serde(rename = "data-riverrun-delta")]
    Delta {
        data: Value,
        transient: bool,
    },
    #[serde(rename = "data-riverrun-progress")]
    Progress {
        data: Value,
        transient: bool,
    },
    #[serde(rename = "data-riverrun-action")]
    Action {
        id: &'a str,
        data: Value,
    },
    #[serde(rename = "data-riverrun-item")]
    Item {
        id: String,
        data: Value,
    },
    #[serde(rename = "data-riverrun-replaced")]
    Replaced {
        id: String,
        data: Value,
    },
    #[serde(rename = "data-riverrun-retracted")]
    Retracted {
        id: String,
        data: Value,
    },
    Finish {
        finish_reason: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        message_metadata: Option<Value>,
    },
    Abort {
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    Error {
        error_text: &'a str,
    },
}

impl<'a> Chunk<'a> {
    /// A block that has an address and is neither text nor data.
    pub(super) fn file(block: &'a Block) -> Option<Self> {
        let (url, media_type, usual) = match block {
            Block::Image(image) => {
                (image.image_url.as_ref().map(|image| image.url.as_str()), &image.media_type, "image/png")
            }
            Block::File(file) => (file.url.as_deref(), &file.media_type, "application/octet-stream"),
            Block::Audio(audio) => (audio.url.as_deref(), &audio.media_type, "audio/mpeg"),
            Block::Text(_)
            | Block::Table(_)
            | Block::Json(_)
            | Block::Html(_)
            | Block::Item(_)
            | Block::Other(_) => return None,
        };
        Some(Chunk::File { url: url?, media_type: media_type.as_deref().unwrap_or(usual) })
    }
}
