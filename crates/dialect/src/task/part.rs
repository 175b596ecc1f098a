//! The parts of an item: blocks, parts of a summary, arguments.

use riverrun_event::{Block, Item};
use riverrun_fold::{PartAt, State};

use super::block::BlockPlace;

pub(super) fn blocks(item: &Item) -> &[Block] {
    match item {
        Item::Message(item) => item.block_list.as_deref().unwrap_or_default(),
        Item::ToolResult(item) => item.block_list.as_deref().unwrap_or_default(),
        Item::Reasoning(_)
        | Item::ToolCall(_)
        | Item::Handoff(_)
        | Item::Error(_)
        | Item::Hosted(_)
        | Item::Other(_) => &[],
    }
}

pub(super) fn block_at(state: &State, at: PartAt) -> Option<&Block> {
    blocks(&state.tasks[at.item.task].output[at.item.item]).get(at.part)
}

/// The frames that tell a block of this type.
pub(super) struct BlockFrames {
    pub(super) added: &'static str,
    pub(super) delta: &'static str,
    pub(super) done: &'static str,
}

pub(super) fn frames_of(block: &Block) -> BlockFrames {
    match block {
        Block::Text(_) => {
            BlockFrames { added: "task.text.added", delta: "task.text.delta", done: "task.text.done" }
        }
        Block::Image(_) => {
            BlockFrames { added: "task.image.added", delta: "task.image.delta", done: "task.image.done" }
        }
        Block::File(_) => plain_frames("task.file.delta"),
        Block::Audio(_) => plain_frames("task.audio.delta"),
        Block::Table(_) | Block::Json(_) | Block::Html(_) | Block::Item(_) | Block::Other(_) => {
            plain_frames("task.block.delta")
        }
    }
}

fn plain_frames(delta: &'static str) -> BlockFrames {
    BlockFrames { added: "task.block.added", delta, done: "task.block.done" }
}

pub(super) fn place_of(item: &Item) -> BlockPlace {
    match item {
        Item::Message(_) => BlockPlace::Message,
        Item::ToolResult(_) => BlockPlace::ToolResult,
        Item::Reasoning(_)
        | Item::ToolCall(_)
        | Item::Handoff(_)
        | Item::Error(_)
        | Item::Hosted(_)
        | Item::Other(_) => BlockPlace::Content,
    }
}

pub(super) fn summary_part(state: &State, at: PartAt) -> Option<&Block> {
    match &state.tasks[at.item.task].output[at.item.item] {
        Item::Reasoning(item) => item.summary.as_ref()?.get(at.part),
        Item::Message(_)
        | Item::ToolCall(_)
        | Item::ToolResult(_)
        | Item::Handoff(_)
        | Item::Error(_)
        | Item::Hosted(_)
        | Item::Other(_) => None,
    }
}

pub(super) fn arguments_of(item: &Item) -> &str {
    match item {
        Item::ToolCall(call) => &call.arguments,
        Item::Message(_)
        | Item::Reasoning(_)
        | Item::ToolResult(_)
        | Item::Handoff(_)
        | Item::Error(_)
        | Item::Hosted(_)
        | Item::Other(_) => "",
    }
}
