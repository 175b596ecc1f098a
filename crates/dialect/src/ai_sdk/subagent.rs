//! A sub-task as one data part that is replaced in place.

use riverrun_event::Item;
use riverrun_fold::{ItemAt, State};
use serde_json::{Value, json};

use crate::follow::{is_failed, item_id, parent_call, result_text, shown_blocks};

/// What the user sees of a sub-task. Items that are not complete are shown as far as they are.
pub(super) fn data(state: &State, task: usize) -> Value {
    let of = &state.tasks[task];
    let shown = (0..of.output.len()).filter(|item| !of.retracted.contains(item));
    let items: Vec<Value> = shown.map(|item| item_data(state, ItemAt { task, item })).collect();
    let mut data = json!({
        "taskId": of.task_id.as_str(),
        "agent": of.agent,
        "title": of.title,
        "status": of.status.as_str(),
        "parentTaskId": of.parent_task_id.as_ref().map(|id| id.as_str()),
        "toolCallId": parent_call(of),
        "items": items,
        "error": of.error.as_ref().map(|error| error.message.as_str()),
    });
    if let Some(members) = data.as_object_mut() {
        members.retain(|_, value| !value.is_null());
    }
    data
}

fn item_data(state: &State, at: ItemAt) -> Value {
    let item = &state.tasks[at.task].output[at.item];
    let id = item_id(state, at);
    match item {
        Item::Message(_) => json!({"type": "text", "id": id, "text": texts(shown_blocks(item))}),
        Item::Reasoning(reasoning) => {
            let parts = reasoning.summary.iter().chain(&reasoning.content).flatten();
            json!({"type": "reasoning", "id": id, "text": texts(parts)})
        }
        Item::ToolCall(call) => {
            json!({"type": "tool-call", "id": call.call_id, "name": call.name, "input": call.arguments})
        }
        Item::ToolResult(result) => {
            let is_error = is_failed(state, item);
            json!({"type": "tool-result", "id": result.call_id, "text": result_text(item), "isError": is_error})
        }
        Item::Handoff(_) | Item::Error(_) | Item::Hosted(_) | Item::Other(_) => {
            json!({"type": "item", "id": id, "item": serde_json::to_value(item).unwrap_or_default()})
        }
    }
}

fn texts<'a>(blocks: impl IntoIterator<Item = &'a riverrun_event::Block>) -> String {
    let texts = blocks.into_iter().filter_map(|block| block.text());
    texts.collect::<Vec<_>>().join("\n\n")
}
