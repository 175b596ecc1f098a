//! Items in the Responses form, and the closed set of event names.

use riverrun_event::{Block, Item, ToolCallItem};
use riverrun_fold::{ItemAt, State, ToolCall};
use serde_json::{Value, json};

use crate::follow::{item, item_id, result_text, shown_blocks};

/// An event's name and the type of its item.
pub(super) struct Name {
    pub(super) event: &'static str,
    pub(super) item_type: &'static str,
}

const MESSAGE: Name = Name { event: "message_output_created", item_type: "message_output_item" };
const REASONING: Name = Name { event: "reasoning_item_created", item_type: "reasoning_item" };
const SEARCHED: Name = Name { event: "tool_search_called", item_type: "tool_search_call_item" };
const FOUND: Name = Name { event: "tool_search_output_created", item_type: "tool_search_output_item" };
const MCP_ASKED: Name = Name { event: "mcp_approval_requested", item_type: "mcp_approval_request_item" };
const MCP_ANSWERED: Name = Name { event: "mcp_approval_response", item_type: "mcp_approval_response_item" };
const MCP_TOOLS: Name = Name { event: "mcp_list_tools", item_type: "mcp_list_tools_item" };
pub(super) const CALLED: Name = Name { event: "tool_called", item_type: "tool_call_item" };
pub(super) const OUTPUT: Name = Name { event: "tool_output", item_type: "tool_call_output_item" };
pub(super) const REQUESTED: Name = Name { event: "handoff_requested", item_type: "handoff_call_item" };
// Spelled as the SDK spells it.
pub(super) const OCCURRED: Name = Name { event: "handoff_occured", item_type: "handoff_output_item" };

/// The event that tells an item of a model call. An error, a type that the SDK does not know, and a call that hands
/// over have none: a hand-off is told by its own item.
pub(super) fn name(state: &State, at: ItemAt) -> Option<Name> {
    match item(state, at) {
        Item::Message(_) => Some(MESSAGE),
        Item::Reasoning(_) => Some(REASONING),
        Item::ToolCall(call) => (!hands_over(state, at, call)).then_some(CALLED),
        Item::ToolResult(_) | Item::Handoff(_) | Item::Error(_) => None,
        Item::Other(other) => match other.tag.as_str() {
            "tool_search_call" => Some(SEARCHED),
            "tool_search_output" => Some(FOUND),
            "mcp_approval_request" => Some(MCP_ASKED),
            "mcp_approval_response" => Some(MCP_ANSWERED),
            "mcp_list_tools" => Some(MCP_TOOLS),
            // Other tools of a provider have no name of their own.
            tag if tag.ends_with("_call") => Some(CALLED),
            tag if tag.ends_with("_call_output") => Some(OUTPUT),
            _ => None,
        },
    }
}

/// What a result says of the conversation's hand.
pub(super) enum Handed {
    Not,
    Over,
    /// The call asked for it and did not get it: it was a call like any other.
    Refused(ItemAt),
}

pub(super) fn handed(state: &State, at: ItemAt) -> Handed {
    let Item::ToolResult(result) = item(state, at) else { return Handed::Not };
    let output = &state.tasks[at.task].output;
    let call = output.iter().enumerate().find_map(|(position, item)| match item {
        Item::ToolCall(call) if call.call_id == result.call_id => Some((position, call)),
        _ => None,
    });
    match call {
        Some((position, call)) if hands_over(state, at, call) => match result.is_error {
            Some(true) => Handed::Refused(ItemAt { task: at.task, item: position }),
            Some(false) | None => Handed::Over,
        },
        Some(_) | None => Handed::Not,
    }
}

/// A call by whose name an agent hands over, and that no tool was started for: a tool of that name would have been.
fn hands_over(state: &State, at: ItemAt, call: &ToolCallItem) -> bool {
    let task = &state.tasks[at.task].task_id;
    let is_run = |known: &ToolCall| {
        known.tool_call_id.as_str() == call.call_id
            && known.started_at.is_some()
            && known.task_id.as_ref().is_none_or(|of| of == task)
    };
    call.name.starts_with("transfer_to_") && !state.tool_calls.iter().any(is_run)
}

/// True if an item was left as it was when its turn ended.
pub(super) fn is_broken_off(item: &Item) -> bool {
    let status = match item {
        Item::Message(item) => &item.status,
        Item::Reasoning(item) => &item.status,
        Item::ToolCall(item) => &item.status,
        Item::ToolResult(item) => &item.status,
        Item::Handoff(_) | Item::Error(_) | Item::Other(_) => return false,
    };
    status.as_deref() == Some("incomplete")
}

pub(super) fn raw_for(state: &State, at: ItemAt, name: &Name) -> Value {
    match (item(state, at), name.event) {
        (Item::Handoff(handoff), "handoff_occured") => {
            let output = json!({"assistant": handoff.to}).to_string();
            json!({"type": "function_call_output", "call_id": handoff.call_id, "output": output})
        }
        _ => raw(state, at),
    }
}

pub(super) fn raw(state: &State, at: ItemAt) -> Value {
    let id = item_id(state, at);
    match item(state, at) {
        Item::Message(message) => {
            let texts = shown_blocks(item(state, at)).iter().filter_map(Block::text);
            let part = |text: &str| json!({"type": "output_text", "text": text, "annotations": []});
            let content: Vec<Value> = texts.map(part).collect();
            json!({"type": "message", "id": id, "role": "assistant", "status": message.status, "content": content})
        }
        Item::Reasoning(reasoning) => {
            let texts = reasoning.summary.iter().flatten().filter_map(Block::text);
            let summary: Vec<Value> =
                texts.map(|text| json!({"type": "summary_text", "text": text})).collect();
            json!({"type": "reasoning", "id": id, "summary": summary})
        }
        Item::ToolCall(call) => json!({
            "type": "function_call", "id": id, "call_id": call.call_id, "name": call.name,
            "arguments": call.arguments, "status": call.status,
        }),
        Item::ToolResult(result) => {
            let output = output(item(state, at));
            json!({"type": "function_call_output", "call_id": result.call_id, "output": output})
        }
        Item::Handoff(handoff) => {
            let name = format!("transfer_to_{}", handoff.to);
            json!({"type": "function_call", "id": id, "call_id": handoff.call_id, "name": name, "arguments": "{}"})
        }
        other @ (Item::Error(_) | Item::Other(_)) => serde_json::to_value(other).unwrap_or_default(),
    }
}

/// A text, or the text and the pictures where there are some.
fn output(item: &Item) -> Value {
    let text = result_text(item);
    let picture = |block: &Block| match block {
        Block::Image(image) => image.image_url.as_ref().map(|image| {
            let detail = image.detail.as_deref().unwrap_or("auto");
            json!({"type": "input_image", "image_url": image.url, "detail": detail})
        }),
        _ => None,
    };
    let pictures: Vec<Value> = shown_blocks(item).iter().filter_map(picture).collect();
    if pictures.is_empty() {
        return Value::String(text);
    }
    let said = (!text.is_empty()).then(|| json!({"type": "input_text", "text": text}));
    said.into_iter().chain(pictures).collect()
}

/// The item as it began: what it has by now follows in deltas.
pub(super) fn begun(state: &State, at: ItemAt) -> Value {
    let mut begun = raw(state, at);
    for (member, empty) in [("content", json!([])), ("summary", json!([])), ("arguments", json!(""))] {
        if let Some(value) = begun.get_mut(member).filter(|value| !value.is_null()) {
            *value = empty;
        }
    }
    begun
}
