//! Items in the Responses form, and the closed set of event names.

use riverrun_event::json::write_string;
use riverrun_event::{Block, HandoffItem, Item, ToolCallItem};
use riverrun_fold::{ItemAt, State, ToolCall};
use serde_json::{Value, json};

use crate::follow::{item, item_id, result_text, shown_blocks};
use crate::members::{Members, write_list};

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

/// The event for an item of a model call. An error, a type that the SDK does not know, and a call that hands
/// over have none: a hand-off has its own item.
pub(super) fn name(state: &State, at: ItemAt) -> Option<Name> {
    match item(state, at) {
        Item::Message(_) => Some(MESSAGE),
        Item::Reasoning(_) => Some(REASONING),
        Item::ToolCall(call) => (!hands_over(state, at, call)).then_some(CALLED),
        Item::ToolResult(_) | Item::Handoff(_) | Item::Error(_) => None,
        Item::Hosted(hosted) if hosted.dialect == RESPONSES => name_of_type(&hosted.kind),
        Item::Hosted(_) => None,
        Item::Other(other) => name_of_type(&other.tag),
    }
}

/// The dialect of a service whose hosted items the SDK knows.
const RESPONSES: &str = "responses";

/// The event for an item type that only the service knows.
fn name_of_type(tag: &str) -> Option<Name> {
    match tag {
        "tool_search_call" => Some(SEARCHED),
        "tool_search_output" => Some(FOUND),
        "mcp_approval_request" => Some(MCP_ASKED),
        "mcp_approval_response" => Some(MCP_ANSWERED),
        "mcp_list_tools" => Some(MCP_TOOLS),
        // Other tools of a provider have no name of their own.
        tag if tag.ends_with("_call") => Some(CALLED),
        tag if tag.ends_with("_call_output") => Some(OUTPUT),
        _ => None,
    }
}

/// The member `output` of a `tool_output` item, as JSON.
pub(super) fn output(item: &Item) -> Option<String> {
    match item {
        Item::ToolResult(_) => {
            let mut out = String::new();
            write_string(&mut out, &result_text(item));
            Some(out)
        }
        Item::Hosted(hosted) if hosted.kind.ends_with("_call_output") => {
            let object: Value = hosted.object()?.to().ok()?;
            object.get("output").map(Value::to_string)
        }
        Item::Hosted(_) | Item::Other(_) | Item::Error(_) => None,
        Item::Message(_) | Item::Reasoning(_) | Item::ToolCall(_) | Item::Handoff(_) => None,
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
        Item::Handoff(_) | Item::Error(_) | Item::Hosted(_) | Item::Other(_) => return false,
    };
    status.as_deref() == Some("incomplete")
}

/// How much of an item is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    Whole,
    /// As it began: what it has by now follows in deltas.
    Begun,
}

/// The output of a hand-off, which is an item of its own to the SDK.
pub(super) fn write_occurred(out: &mut String, handoff: &HandoffItem) {
    let mut members = Members::open(out);
    write_nullable(&mut members, "call_id", handoff.call_id.as_deref());
    members.text("output", &json!({"assistant": handoff.to}).to_string());
    members.text("type", "function_call_output");
    members.close();
}

/// Members stand in the order of the alphabet, here and wherever the dialect writes by hand.
pub(super) fn write_raw(out: &mut String, state: &State, at: ItemAt, extent: Extent) {
    let (id, is_whole) = (item_id(state, at), extent == Extent::Whole);
    if let Item::Hosted(hosted) = item(state, at)
        && let Some(object) = hosted.object()
    {
        return out.push_str(object.get());
    }
    let mut members = match item(state, at) {
        Item::Error(_) | Item::Hosted(_) | Item::Other(_) => {
            return write_other(out, item(state, at), extent);
        }
        _ => Members::open(out),
    };
    match item(state, at) {
        Item::Message(message) => {
            let texts = shown_blocks(item(state, at)).iter().filter_map(Block::text);
            members.with("content", |out| write_list(out, texts.filter(|_| is_whole), write_text));
            members.text("id", &id);
            members.text("role", "assistant");
            write_nullable(&mut members, "status", message.status.as_deref());
            members.text("type", "message");
        }
        Item::Reasoning(reasoning) => {
            members.text("id", &id);
            let texts = reasoning.summary.iter().flatten().filter_map(Block::text);
            members.with("summary", |out| write_list(out, texts.filter(|_| is_whole), write_summary));
            members.text("type", "reasoning");
        }
        Item::ToolCall(call) => {
            members.text("arguments", if is_whole { &call.arguments } else { "" });
            members.text("call_id", &call.call_id);
            members.text("id", &id);
            members.text("name", &call.name);
            write_nullable(&mut members, "status", call.status.as_deref());
            members.text("type", "function_call");
        }
        Item::ToolResult(result) => {
            members.text("call_id", &result.call_id);
            members.with("output", |out| write_output(out, item(state, at)));
            members.text("type", "function_call_output");
        }
        Item::Handoff(handoff) => {
            members.text("arguments", if is_whole { "{}" } else { "" });
            write_nullable(&mut members, "call_id", handoff.call_id.as_deref());
            members.text("id", &id);
            members.text("name", &format!("transfer_to_{}", handoff.to));
            members.text("type", "function_call");
        }
        Item::Error(_) | Item::Hosted(_) | Item::Other(_) => {}
    }
    members.close();
}

fn write_nullable(members: &mut Members<'_>, name: &str, value: Option<&str>) {
    match value {
        Some(value) => members.text(name, value),
        None => members.raw(name, "null"),
    }
}

pub(super) fn write_text(out: &mut String, text: &str) {
    out.push_str("{\"annotations\":[],\"text\":");
    write_string(out, text);
    out.push_str(",\"type\":\"output_text\"}");
}

pub(super) fn write_summary(out: &mut String, text: &str) {
    out.push_str("{\"text\":");
    write_string(out, text);
    out.push_str(",\"type\":\"summary_text\"}");
}

/// What only its provider knows, and errors: as they are.
fn write_other(out: &mut String, item: &Item, extent: Extent) {
    let mut value = serde_json::to_value(item).unwrap_or_default();
    let empty = [("content", json!([])), ("summary", json!([])), ("arguments", json!(""))];
    for (member, empty) in empty.into_iter().filter(|_| extent == Extent::Begun) {
        if let Some(value) = value.get_mut(member).filter(|value| !value.is_null()) {
            *value = empty;
        }
    }
    out.push_str(&value.to_string());
}

/// A text, or the text and the pictures where there are some.
fn write_output(out: &mut String, item: &Item) {
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
        return write_string(out, &text);
    }
    let text = (!text.is_empty()).then(|| json!({"type": "input_text", "text": text}));
    out.push_str(&text.into_iter().chain(pictures).collect::<Value>().to_string());
}
