//! What is written of a task's items when its work ends, wherever that is done.

use riverrun_event::{
    EventType, HostedPatch, Input, Item, ItemCompleted, ItemId, ItemPatch, ItemStarted, MessageItem,
    MessagePatch, Part, Patch, ReasoningPatch, ToolCallPatch,
};

use crate::event_batch::EventBatch;
use crate::shared::RunnerShared;
use crate::view::TaskView;

/// An item that its model had not finished. A result ends with its call.
pub(crate) fn incomplete(item: &Item) -> Option<ItemPatch> {
    let status = Patch::Set("incomplete".to_owned());
    Some(match item {
        Item::Message(item) => {
            ItemPatch::Message(MessagePatch { id: item.id.clone(), status, ..MessagePatch::default() })
        }
        Item::Reasoning(item) => {
            ItemPatch::Reasoning(ReasoningPatch { id: item.id.clone(), status, ..ReasoningPatch::default() })
        }
        Item::ToolCall(item) => {
            ItemPatch::ToolCall(ToolCallPatch { id: item.id.clone(), status, ..ToolCallPatch::default() })
        }
        Item::Hosted(item) => {
            ItemPatch::Hosted(HostedPatch { id: item.id.clone(), status, ..HostedPatch::default() })
        }
        Item::ToolResult(_) | Item::Handoff(_) | Item::Error(_) | Item::Other(_) => return None,
    })
}

/// What was said to the task and not read yet takes its place in the conversation: the model reads it with its next
/// step, or a retry or the next turn does.
pub(crate) fn write_unread(shared: &RunnerShared, view: &mut TaskView, batch: &mut EventBatch) {
    let unread: Vec<Input> =
        view.steers.iter().skip(view.steers_read).map(|steer| steer.input.clone()).collect();
    view.steers_read = view.steers.len();
    for input in unread {
        let (id, output_index) = (ItemId::from_bytes(shared.fresh()).to_string(), view.take_index());
        let parts = match input {
            Input::Text(text) => vec![Part::plain(text)],
            Input::Parts(parts) => parts,
        };
        let item = Item::Message(MessageItem {
            id: id.clone(),
            role: Some("user".to_owned()),
            block_list: Some(parts),
            ..MessageItem::default()
        });
        batch.push(EventType::ItemStarted, &view.scope, &ItemStarted { item, output_index });
        let item = ItemPatch::Message(MessagePatch { id, ..MessagePatch::default() });
        batch.push(EventType::ItemCompleted, &view.scope, &ItemCompleted { item, output_index });
    }
}
