//! What is in an item, whatever its type.

use riverrun_event::{Block, Item, ItemPatch, Patch};

/// The kinds of items that deltas and results go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemKind {
    Message,
    Reasoning,
    ToolCall,
    ToolResult,
}

impl ItemKind {
    pub(super) fn of(item: &Item) -> Option<Self> {
        match item {
            Item::Message(_) => Some(ItemKind::Message),
            Item::Reasoning(_) => Some(ItemKind::Reasoning),
            Item::ToolCall(_) => Some(ItemKind::ToolCall),
            Item::ToolResult(_) => Some(ItemKind::ToolResult),
            Item::Handoff(_) | Item::Error(_) | Item::Hosted(_) | Item::Other(_) => None,
        }
    }

    /// Of the ids of items that nobody named.
    pub(super) fn prefix(self) -> &'static str {
        match self {
            ItemKind::Message => "msg_",
            ItemKind::Reasoning => "rs_",
            ItemKind::ToolCall => "fc_",
            ItemKind::ToolResult => "fco_",
        }
    }
}

pub(super) fn set_status(item: &mut Item, status: &str) {
    let field = match item {
        Item::Message(item) => &mut item.status,
        Item::Reasoning(item) => &mut item.status,
        Item::ToolCall(item) => &mut item.status,
        Item::ToolResult(item) => &mut item.status,
        Item::Hosted(item) => &mut item.status,
        Item::Handoff(_) | Item::Error(_) | Item::Other(_) => return,
    };
    *field = Some(status.to_owned());
}

pub(super) fn has_status(item: &Item) -> bool {
    match item {
        Item::Message(item) => item.status.is_some(),
        Item::Reasoning(item) => item.status.is_some(),
        Item::ToolCall(item) => item.status.is_some(),
        Item::ToolResult(item) => item.status.is_some(),
        Item::Hosted(item) => item.status.is_some(),
        Item::Handoff(_) | Item::Error(_) | Item::Other(_) => true,
    }
}

pub(super) enum PartKind {
    Block,
    Summary,
    Arguments,
}

/// The parts of an item that come one by one.
pub(super) struct Contents {
    pub kind: PartKind,
    pub parts: usize,
}

pub(super) fn contents(item: &Item) -> Contents {
    match item {
        Item::Reasoning(item) => {
            Contents { kind: PartKind::Summary, parts: item.summary.as_ref().map_or(0, Vec::len) }
        }
        Item::ToolCall(item) => {
            Contents { kind: PartKind::Arguments, parts: usize::from(!item.arguments.is_empty()) }
        }
        Item::Message(_) | Item::ToolResult(_) | Item::Hosted(_) => {
            Contents { kind: PartKind::Block, parts: blocks(item).len() }
        }
        Item::Handoff(_) | Item::Error(_) | Item::Other(_) => Contents { kind: PartKind::Block, parts: 0 },
    }
}

pub(super) fn blocks(item: &Item) -> &[Block] {
    match item {
        Item::Message(item) => item.block_list.as_deref().unwrap_or_default(),
        Item::ToolResult(item) => item.block_list.as_deref().unwrap_or_default(),
        Item::Hosted(item) => item.block_list.as_deref().unwrap_or_default(),
        Item::Reasoning(_) | Item::ToolCall(_) | Item::Handoff(_) | Item::Error(_) | Item::Other(_) => &[],
    }
}

pub(super) fn status_of(patch: &ItemPatch) -> Option<String> {
    match patch {
        ItemPatch::Message(patch) => patch.status.as_set().cloned(),
        ItemPatch::Reasoning(patch) => patch.status.as_set().cloned(),
        ItemPatch::ToolCall(patch) => patch.status.as_set().cloned(),
        ItemPatch::ToolResult(patch) => patch.status.as_set().cloned(),
        ItemPatch::Hosted(patch) => patch.status.as_set().cloned(),
        ItemPatch::Handoff(_) | ItemPatch::Error(_) | ItemPatch::Other(_) => None,
    }
}

/// True if the patch leaves the blocks, the parts and the call as they are.
pub(super) fn keeps_contents(patch: &ItemPatch) -> bool {
    match patch {
        ItemPatch::Message(patch) => patch.block_list.is_keep(),
        ItemPatch::Hosted(patch) => patch.block_list.is_keep(),
        ItemPatch::ToolCall(patch) => matches!(patch.call_id, Patch::Keep),
        ItemPatch::ToolResult(patch) => {
            patch.block_list.is_keep() && patch.content.is_keep() && matches!(patch.call_id, Patch::Keep)
        }
        ItemPatch::Reasoning(_) | ItemPatch::Handoff(_) | ItemPatch::Error(_) | ItemPatch::Other(_) => true,
    }
}
