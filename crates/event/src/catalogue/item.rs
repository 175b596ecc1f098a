//! Items: what a task puts out.

use std::borrow::Cow;

use crate::catalogue::macros::{item, payload, tagged};
use crate::catalogue::{Block, Part, Patch, RawJson};

tagged! {
    /// One entry of a task's output, tagged by `type`.
    Item, "One entry of a task's output, tagged by `type`." {
        Message(MessageItem) = "message",
        Reasoning(ReasoningItem) = "reasoning",
        ToolCall(ToolCallItem) = "tool_call",
        ToolResult(ToolResultItem) = "tool_result",
        Handoff(HandoffItem) = "handoff",
        Error(ErrorItem) = "error",
        Hosted(HostedItem) = "hosted",
    }
}

tagged! {
    /// A change of an item. Only `type` and `id` must be there: absent keeps, `null` clears, present replaces.
    ItemPatch, "A change of an item. Only `type` and `id` must be there: absent keeps, `null` clears, present replaces." {
        Message(MessagePatch) = "message",
        Reasoning(ReasoningPatch) = "reasoning",
        ToolCall(ToolCallPatch) = "tool_call",
        ToolResult(ToolResultPatch) = "tool_result",
        Handoff(HandoffPatch) = "handoff",
        Error(ErrorPatch) = "error",
        Hosted(HostedPatch) = "hosted",
    }
}

item! {
    /// What an agent or a person said.
    MessageItem / MessagePatch optional {
        /// Who speaks: `assistant`, `user`, `system`.
        role: String,
        /// The agent that speaks.
        agent: String,
        /// The message for the model.
        content: Vec<Part>,
        /// The message for the user.
        block_list "block_list": Vec<Block>,
        /// `in_progress`, `completed`, `incomplete`, `failed`.
        status: String,
        /// What its provider wants back verbatim: a signature, an encrypted thought. Opaque to us.
        opaque: RawJson,
    };

    /// What the model thought.
    ReasoningItem / ReasoningPatch optional {
        /// The summary, part by part.
        summary: Vec<Part>,
        /// The reasoning itself, where the provider shows it.
        content: Vec<Part>,
        /// `in_progress`, `completed`, `incomplete`, `failed`.
        status: String,
        /// What its provider wants back verbatim: a signature, an encrypted thought. Opaque to us.
        opaque: RawJson,
    };

    /// The model asked for a tool.
    ToolCallItem / ToolCallPatch {
        /// The call, which its result names too.
        call_id "call_id": String,
        /// The tool.
        name: String,
        /// The arguments, the exact text that the model wrote.
        arguments: String,
    } optional {
        /// The language of the arguments when they are code.
        language: String,
        /// `in_progress`, `completed`, `incomplete`, `failed`.
        status: String,
        /// What its provider wants back verbatim: a signature, an encrypted thought. Opaque to us.
        opaque: RawJson,
    };

    /// What a tool gave back.
    ToolResultItem / ToolResultPatch {
        /// The call that this answers.
        call_id "call_id": String,
    } optional {
        /// The result for the model.
        content: Vec<Part>,
        /// The result for the user.
        block_list "block_list": Vec<Block>,
        /// `in_progress`, `completed`, `incomplete`, `failed`.
        status: String,
        /// True if the tool failed.
        is_error "is_error": bool,
        /// Of a sub-agent: what the numbers that it cites are in this task, `{"1":2}`. What they stand for is shown by
        /// the sub-agent's own items, under its numbers.
        references: RawJson,
    };

    /// One agent gave the work to another.
    HandoffItem / HandoffPatch {
        /// The agent that goes on.
        to: String,
    } optional {
        /// The agent that had the work.
        from: String,
        /// The call by which the model asked for it.
        call_id "call_id": String,
    };

    /// Something went wrong that the user should see.
    ErrorItem / ErrorPatch {
        /// What happened, for a person.
        message: String,
    } optional {
        /// A stable name of the failure.
        code: String,
    };

    /// What a service's own tool did, or anything else of its answer that has no other place, in the service's words.
    HostedItem / HostedPatch {
        /// The dialect of these words: `responses`, `anthropic`.
        dialect: String,
        /// What that dialect calls it: `web_search_call`, `server_tool_use`, …
        kind: String,
    } optional {
        /// The words, in order. Tags say what a block is: `begun` and `whole` are the thing itself as it began and as it
        /// ended, `frame` is a word in between; `part` marks a text that goes on in the next block.
        block_list "block_list": Vec<Block>,
        /// `in_progress`, `completed`, `incomplete`.
        status: String,
    };
}

impl Item {
    /// The item's id; None for a type that is not known here and has none.
    pub fn id(&self) -> Option<Cow<'_, str>> {
        match self {
            Item::Message(item) => Some(Cow::Borrowed(item.id.as_str())),
            Item::Reasoning(item) => Some(Cow::Borrowed(item.id.as_str())),
            Item::ToolCall(item) => Some(Cow::Borrowed(item.id.as_str())),
            Item::ToolResult(item) => Some(Cow::Borrowed(item.id.as_str())),
            Item::Handoff(item) => Some(Cow::Borrowed(item.id.as_str())),
            Item::Error(item) => Some(Cow::Borrowed(item.id.as_str())),
            Item::Hosted(item) => Some(Cow::Borrowed(item.id.as_str())),
            Item::Other(opaque) => opaque.raw.to::<ItemName>().ok().map(|name| Cow::Owned(name.id)),
        }
    }

    /// The blocks that the user sees.
    pub fn block_list_mut(&mut self) -> Option<&mut Vec<Block>> {
        match self {
            Item::Message(item) => Some(item.block_list.get_or_insert_default()),
            Item::ToolResult(item) => Some(item.block_list.get_or_insert_default()),
            Item::Hosted(item) => Some(item.block_list.get_or_insert_default()),
            Item::Reasoning(_) | Item::ToolCall(_) | Item::Handoff(_) | Item::Error(_) | Item::Other(_) => {
                None
            }
        }
    }
}

payload! {
    /// The least that every item has besides its type.
    ItemName {
        /// The item's id.
        id: String,
    };
}

/// A patch names another type than the item has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a patch of type `{patch}` does not fit an item of type `{item}`")]
pub struct PatchMismatch {
    /// The type of the item.
    pub item: String,
    /// The type that the patch names.
    pub patch: String,
}

impl ItemPatch {
    /// The item's id; None for a type that is not known here and has none.
    pub fn id(&self) -> Option<Cow<'_, str>> {
        match self {
            ItemPatch::Message(patch) => Some(Cow::Borrowed(patch.id.as_str())),
            ItemPatch::Reasoning(patch) => Some(Cow::Borrowed(patch.id.as_str())),
            ItemPatch::ToolCall(patch) => Some(Cow::Borrowed(patch.id.as_str())),
            ItemPatch::ToolResult(patch) => Some(Cow::Borrowed(patch.id.as_str())),
            ItemPatch::Handoff(patch) => Some(Cow::Borrowed(patch.id.as_str())),
            ItemPatch::Error(patch) => Some(Cow::Borrowed(patch.id.as_str())),
            ItemPatch::Hosted(patch) => Some(Cow::Borrowed(patch.id.as_str())),
            ItemPatch::Other(opaque) => opaque.raw.to::<ItemName>().ok().map(|name| Cow::Owned(name.id)),
        }
    }

    /// Changes the item. An item of a type that is not known here is replaced as a whole.
    pub fn apply(self, item: &mut Item) -> Result<(), PatchMismatch> {
        match (self, item) {
            (ItemPatch::Message(patch), Item::Message(item)) => patch.apply(item),
            (ItemPatch::Reasoning(patch), Item::Reasoning(item)) => patch.apply(item),
            (ItemPatch::ToolCall(patch), Item::ToolCall(item)) => patch.apply(item),
            (ItemPatch::ToolResult(patch), Item::ToolResult(item)) => patch.apply(item),
            (ItemPatch::Handoff(patch), Item::Handoff(item)) => patch.apply(item),
            (ItemPatch::Error(patch), Item::Error(item)) => patch.apply(item),
            (ItemPatch::Hosted(patch), Item::Hosted(item)) => patch.apply(item),
            (ItemPatch::Other(patch), Item::Other(item)) if patch.tag == item.tag => *item = patch,
            (patch, item) => {
                return Err(PatchMismatch { item: item.tag().to_owned(), patch: patch.tag().to_owned() });
            }
        }
        Ok(())
    }

    /// The item that the patch alone describes, for a reader that never saw it start.
    pub fn into_item(self) -> Item {
        macro_rules! fill {
            ($kind:ident, $item:ident, $patch:expr) => {{
                let mut item = $item { id: $patch.id.clone(), ..$item::default() };
                $patch.apply(&mut item);
                Item::$kind(item)
            }};
        }
        match self {
            ItemPatch::Message(patch) => fill!(Message, MessageItem, patch),
            ItemPatch::Reasoning(patch) => fill!(Reasoning, ReasoningItem, patch),
            ItemPatch::ToolCall(patch) => fill!(ToolCall, ToolCallItem, patch),
            ItemPatch::ToolResult(patch) => fill!(ToolResult, ToolResultItem, patch),
            ItemPatch::Handoff(patch) => fill!(Handoff, HandoffItem, patch),
            ItemPatch::Error(patch) => fill!(Error, ErrorItem, patch),
            ItemPatch::Hosted(patch) => fill!(Hosted, HostedItem, patch),
            ItemPatch::Other(opaque) => Item::Other(opaque),
        }
    }
}

impl From<Item> for ItemPatch {
    fn from(item: Item) -> Self {
        match item {
            Item::Message(item) => ItemPatch::Message(item.into()),
            Item::Reasoning(item) => ItemPatch::Reasoning(item.into()),
            Item::ToolCall(item) => ItemPatch::ToolCall(item.into()),
            Item::ToolResult(item) => ItemPatch::ToolResult(item.into()),
            Item::Handoff(item) => ItemPatch::Handoff(item.into()),
            Item::Error(item) => ItemPatch::Error(item.into()),
            Item::Hosted(item) => ItemPatch::Hosted(item.into()),
            Item::Other(opaque) => ItemPatch::Other(opaque),
        }
    }
}
