//! A request's conversation in our own terms: the history as items, what is new as the input.

use riverrun_event::{
    Input, Item, MessageItem, Part, ReasoningItem, TextBlock, ToolCallItem, ToolResultItem,
};

use super::{InputItem, ModelCall};

impl ModelCall {
    /// The last user message is the input; everything before it is history. A call that ends with tool results has no
    /// new input: all of it is history.
    pub fn conversation(&self) -> (Vec<Item>, Option<Input>) {
        match self.input.split_last() {
            Some((InputItem::User { parts }, before)) => (items(before), Some(input(parts))),
            Some(_) | None => (items(&self.input), None),
        }
    }

    /// The instructions of the request, and those among its messages.
    pub fn all_instructions(&self) -> Option<String> {
        let among = self.input.iter().filter_map(|item| match item {
            InputItem::System { text } | InputItem::Developer { text } => Some(text.as_str()),
            InputItem::User { .. }
            | InputItem::Assistant { .. }
            | InputItem::Reasoning { .. }
            | InputItem::ToolCall { .. }
            | InputItem::ToolResult { .. }
            | InputItem::Decision { .. }
            | InputItem::Other { .. } => None,
        });
        let all: Vec<&str> = self.instructions.as_deref().into_iter().chain(among).collect();
        (!all.is_empty()).then(|| all.join("\n\n"))
    }
}

fn input(parts: &[Part]) -> Input {
    match parts {
        [Part::Text(TextBlock { text, annotations: None, .. })] => Input::Text(text.clone()),
        parts => Input::Parts(parts.to_vec()),
    }
}

/// Entries of a history as items, named by their positions.
pub fn items(entries: &[InputItem]) -> Vec<Item> {
    entries.iter().enumerate().filter_map(|(at, entry)| entry.to_item(format!("h{at}"))).collect()
}

impl InputItem {
    /// The entry as an item. Instructions and decisions have none.
    pub fn to_item(&self, id: String) -> Option<Item> {
        let message = |id: String, role: &str, parts: &[Part]| {
            Item::Message(MessageItem {
                id,
                role: Some(role.to_owned()),
                block_list: Some(parts.to_vec()),
                ..MessageItem::default()
            })
        };
        Some(match self {
            InputItem::User { parts } => message(id, "user", parts),
            InputItem::Assistant { parts } => message(id, "assistant", parts),
            InputItem::Reasoning { opaque } => Item::Reasoning(ReasoningItem {
                id,
                opaque: Some(opaque.clone()),
                ..ReasoningItem::default()
            }),
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
}
