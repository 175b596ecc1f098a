//! Items in the Responses form, and the closed set of event names.

use riverrun_event::{Block, Item};
use riverrun_fold::{ItemAt, State};
use serde_json::{Value, json};

use crate::follow::{item, item_id, result_text, shown_blocks};

/// An event's name and the type of its item.
pub(super) struct Name {
    pub(super) event: &'static str,
    pub(super) item_type: &'static str,
}

const MESSAGE: Name = Name { event: "message_output_created", item_type: "message_output_item" };
const REASONING: Name = Name { event: "reasoning_item_created", item_type: "reasoning_item" };
const CALLED: Name = Name { event: "tool_called", item_type: "tool_call_item" };
const OUTPUT: Name = Name { event: "tool_output", item_type: "tool_call_output_item" };
const REQUESTED: Name = Name { event: "handoff_requested", item_type: "handoff_call_item" };
// Spelled as the SDK spells it.
const OCCURRED: Name = Name { event: "handoff_occured", item_type: "handoff_output_item" };

/// The events that tell a complete item. An error, and a type that the SDK does not know, have none.
pub(super) fn names(item: &Item) -> Vec<Name> {
    match item {
        Item::Message(_) => vec![MESSAGE],
        Item::Reasoning(_) => vec![REASONING],
        Item::ToolCall(_) => vec![CALLED],
        Item::ToolResult(_) => vec![OUTPUT],
        Item::Handoff(_) => vec![REQUESTED, OCCURRED],
        Item::Error(_) => Vec::new(),
        Item::Other(other) => match other.tag.as_str() {
            "tool_search_call" => {
                vec![Name { event: "tool_search_called", item_type: "tool_search_call_item" }]
            }
            "tool_search_output" => {
                vec![Name { event: "tool_search_output_created", item_type: "tool_search_output_item" }]
            }
            "mcp_approval_request" => {
                vec![Name { event: "mcp_approval_requested", item_type: "mcp_approval_request_item" }]
            }
            "mcp_approval_response" => {
                vec![Name { event: "mcp_approval_response", item_type: "mcp_approval_response_item" }]
            }
            "mcp_list_tools" => vec![Name { event: "mcp_list_tools", item_type: "mcp_list_tools_item" }],
            _ => Vec::new(),
        },
    }
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
