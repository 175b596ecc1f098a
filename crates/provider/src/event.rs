//! What a model says while it answers.

use std::time::Duration;

use bytes::Bytes;
use riverrun_event::{Annotation, Block, RawJson, SentText, Usage};

use crate::ModelError;

/// One fact of a model call. `index` counts the items of this call from 0.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelEvent {
    /// The service took the request.
    Started {
        response_id: Option<String>,
        model: Option<String>,
    },
    ItemStarted {
        index: u32,
        kind: ItemKind,
    },
    /// Text of a message.
    Text {
        index: u32,
        delta: String,
    },
    /// Text of a message with the odds of its tokens, as the service counts them.
    Scored {
        index: u32,
        delta: String,
        logprobs: Vec<RawJson>,
    },
    /// Text of a message by which the model refuses to answer.
    Refusal {
        index: u32,
        delta: String,
    },
    /// Text of a reasoning item: of a summary part, or of the reasoning itself.
    Reasoning {
        index: u32,
        summary_index: Option<u32>,
        delta: String,
    },
    /// Text of a tool call's arguments.
    Arguments {
        index: u32,
        delta: String,
    },
    /// A picture, a sound or a file in a message, whole. Text that comes after it stands behind it.
    Block {
        index: u32,
        block: Block,
    },
    /// A citation that the service made.
    Annotated {
        index: u32,
        annotation: Annotation,
    },
    /// A word about a hosted item, as the service said it but for the numbers of the stream.
    Frame {
        index: u32,
        frame: RawJson,
    },
    /// The item is whole. `opaque` of a hosted item is the item itself; that of another goes back verbatim with the next request.
    ItemDone {
        index: u32,
        opaque: Option<RawJson>,
    },
    RateLimited(RateLimit),
    /// What the agent shares with its readers, whole; it stands for the state that was shared before.
    State(RawJson),
    /// Something of the service's that has no place here, kept as it came.
    Vendor {
        name: String,
        data: RawJson,
    },
    /// The answer goes on with something that the service said wrongly left out or mended.
    Warning {
        /// A stable name, as `docs/errors.md` has it.
        code: &'static str,
        /// What was done, for a person.
        message: &'static str,
        detail: RawJson,
    },
    /// An event of the service's stream as it came, if the request asked for them.
    Original(serde_json::Value),
    /// A piece of text, and the events of the service's stream that carried it.
    Sent {
        text: Box<ModelEvent>,
        events: Vec<SentText>,
    },
    /// Every byte of the service's answer, if the request asked to keep them. It comes right before the terminal event.
    Raw(Bytes),
    Completed {
        stop: StopReason,
        usage: Usage,
        /// Members of the answer that have no place here, in the service's words.
        members: Option<RawJson>,
    },
    /// The call failed; items that are not done stay unfinished, whatever they hold.
    Failed(ModelError),
}

impl ModelEvent {
    /// The text of a piece of text.
    pub fn text(&self) -> Option<&str> {
        match self {
            ModelEvent::Text { delta, .. }
            | ModelEvent::Scored { delta, .. }
            | ModelEvent::Refusal { delta, .. }
            | ModelEvent::Reasoning { delta, .. }
            | ModelEvent::Arguments { delta, .. } => Some(delta),
            ModelEvent::Sent { text, .. } => text.text(),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum ItemKind {
    Message,
    Reasoning,
    ToolCall {
        call_id: String,
        name: String,
    },
    /// What has no place here: a tool that the service runs itself, or what is newer than this. It is kept as it came.
    Hosted {
        kind: String,
        begun: RawJson,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReason {
    /// The model said what it wanted to say.
    End,
    /// The model waits for the results of its tool calls.
    ToolUse,
    /// The answer was cut at the limit of tokens.
    MaxTokens,
    /// A stop sequence came; which one, some services say.
    StopSequence(Option<String>),
    Refusal,
    ContentFilter,
    /// A word of the service that is not known here.
    Other(String),
}

/// What the service says about its limits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RateLimit {
    /// `requests`, `tokens`, …
    pub kind: String,
    pub limit: Option<u64>,
    pub remaining: Option<u64>,
    pub resets_in: Option<Duration>,
}
