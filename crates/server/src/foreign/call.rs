//! A foreign request as a turn: the caller's history becomes items, what is new becomes the input.

use riverrun_dialect::request::{InputItem, ModelCall, Tool, ToolChoice};
use riverrun_event::{
    Input, Item, MessageItem, Part, RawJson, ReasoningItem, TextBlock, ToolCallItem, ToolResultItem,
};
use riverrun_runner::{Settings, Submit};
use serde_json::{Map, Value, json};

/// The turn that a call asks for. Ids and the thread are the route's business.
pub fn submit(call: &ModelCall) -> Submit {
    let (history, input) = split(&call.input);
    Submit {
        agent: Some(call.model.clone()),
        input,
        history: history.iter().enumerate().filter_map(|(at, item)| self::item(at, item)).collect(),
        settings: Some(settings(call)),
        request: Some(call.request.clone()),
        ..Submit::default()
    }
}

/// The last thing that the user said is the input; what stands before it is history. A call that ends with tool
/// results says nothing new: all of it is history.
fn split(items: &[InputItem]) -> (&[InputItem], Option<Input>) {
    match items.split_last() {
        Some((InputItem::User { parts }, before)) => (before, Some(input(parts))),
        Some(_) | None => (items, None),
    }
}

fn input(parts: &[Part]) -> Input {
    match parts {
        [Part::Text(TextBlock { text, annotations: None, .. })] => Input::Text(text.clone()),
        parts => Input::Parts(parts.to_vec()),
    }
}

fn settings(call: &ModelCall) -> Settings {
    let system = call.input.iter().filter_map(|item| match item {
        InputItem::System { text } | InputItem::Developer { text } => Some(text.as_str()),
        _ => None,
    });
    let instructions: Vec<&str> = call.instructions.as_deref().into_iter().chain(system).collect();
    let mut extra = Map::new();
    for (name, value) in &call.extra {
        extra.insert(name.clone(), value_of(value));
    }
    Settings {
        instructions: (!instructions.is_empty()).then(|| instructions.join("\n\n")),
        tools: call.tools.iter().map(tool).collect(),
        tool_choice: tool_choice(&call.tool_choice),
        parallel_tool_calls: call.parallel_tool_calls,
        max_output_tokens: call.max_output_tokens,
        temperature: call.temperature,
        top_p: call.top_p,
        stop: call.stop.clone(),
        extra,
        ..Settings::default()
    }
}

pub(super) fn tool(tool: &Tool) -> Value {
    let parameters = tool.parameters.as_ref().map_or_else(|| json!({"type": "object"}), value_of);
    json!({
        "name": tool.name,
        "description": tool.description.clone().unwrap_or_default(),
        "parameters": parameters,
        "strict": tool.strict.unwrap_or(false),
    })
}

fn tool_choice(choice: &ToolChoice) -> Option<Value> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some("none".into()),
        ToolChoice::Required => Some("required".into()),
        ToolChoice::Named(name) => Some(json!({ "name": name })),
        ToolChoice::Other(raw) => Some(value_of(raw)),
    }
}

fn value_of(raw: &RawJson) -> Value {
    serde_json::from_str(raw.get()).unwrap_or(Value::Null)
}

/// An entry of the history as an item. What stands among the instructions already, and decisions, have none.
fn item(at: usize, item: &InputItem) -> Option<Item> {
    named(format!("h{at}"), item)
}

/// The same, under the id of the message that it stood in.
pub(super) fn named(id: String, item: &InputItem) -> Option<Item> {
    let message = |role: &str, parts: &[Part]| {
        Item::Message(MessageItem {
            id: id.clone(),
            role: Some(role.to_owned()),
            block_list: Some(parts.to_vec()),
            ..MessageItem::default()
        })
    };
    Some(match item {
        InputItem::User { parts } => message("user", parts),
        InputItem::Assistant { parts } => message("assistant", parts),
        InputItem::Reasoning { opaque } => {
            Item::Reasoning(ReasoningItem { id, opaque: Some(opaque.clone()), ..ReasoningItem::default() })
        }
        InputItem::ToolCall { call_id, name, arguments } => Item::ToolCall(ToolCallItem {
            id,
            call_id: call_id.clone(),
            name: name.clone(),
            arguments: arguments.clone(),
            ..ToolCallItem::default()
        }),
        InputItem::ToolResult { call_id, parts, is_error } => Item::ToolResult(ToolResultItem {
            id,
            call_id: call_id.clone(),
            content: Some(parts.clone()),
            is_error: is_error.then_some(true),
            ..ToolResultItem::default()
        }),
        InputItem::System { .. }
        | InputItem::Developer { .. }
        | InputItem::Decision { .. }
        | InputItem::Other { .. } => return None,
    })
}
