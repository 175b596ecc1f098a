//! The messages of a conversation, as `MESSAGES_SNAPSHOT` has them.

use riverrun_event::{Block, Item, TurnId};
use riverrun_fold::{PartAt, State};
use serde::Serialize;
use serde_json::{Value, json};

use super::identity::{block_id, parent_message, subagent};
use super::part::result_content;
use crate::follow::{
    Happening, List, block, happenings, item, item_id, message_id, shown_blocks, spot_id, text, turn,
};

/// The activity that shows a block which is no text: an assistant's message holds texts here.
pub(super) const BLOCK: &str = "riverrun.block";

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Message {
    pub(super) id: String,
    pub(super) role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) content: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) activity_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tool_calls: Vec<ToolCall>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_call_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) subagent_run_id: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct ToolCall {
    pub(super) id: String,
    pub(super) r#type: &'static str,
    pub(super) function: Function,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) arguments: String,
}

impl Message {
    fn new(id: String, role: &'static str, content: Option<Value>) -> Self {
        Self {
            id,
            role,
            content,
            activity_type: None,
            tool_calls: Vec::new(),
            tool_call_id: None,
            subagent_run_id: None,
        }
    }
}

/// The protocol's role of a message item.
pub(super) fn role(item: &Item) -> &'static str {
    let Item::Message(message) = item else { return "assistant" };
    match message.role.as_deref() {
        Some("user") => "user",
        Some("system") => "system",
        Some("developer") => "developer",
        Some(_) | None => "assistant",
    }
}

/// The messages of the projected turn's thread, as far as the state holds it, oldest first, up to that turn.
pub(super) fn messages(state: &State, last: &TurnId) -> Vec<Message> {
    let mut out = Vec::new();
    let thread = turn(state, last).map(|turn| &turn.thread_id);
    for turn in state.turns.iter().filter(|turn| thread.is_none_or(|thread| turn.thread_id == *thread)) {
        let id = message_id(turn);
        // What came without ids of messages is no list of messages.
        if id.is_some() {
            turn.history.iter().for_each(|item| add_brought(item, &mut out));
        }
        if let Some(input) = &turn.input {
            let id = id.unwrap_or_else(|| format!("{}.input", turn.turn_id));
            out.push(Message::new(id, "user", Some(input.text().into_owned().into())));
        }
        for happening in happenings(state, turn) {
            add(state, happening, &mut out);
        }
        if turn.turn_id == *last {
            break;
        }
    }
    out
}

/// The ids of the messages that the state knows, and the calls they are about, each with its turn.
pub fn known(state: &State) -> Vec<(String, TurnId)> {
    let mut out = Vec::new();
    for turn in &state.turns {
        let mut messages = Vec::new();
        happenings(state, turn).into_iter().for_each(|happening| add(state, happening, &mut messages));
        let calls = messages.iter().flat_map(|message| message.tool_calls.iter().map(|call| call.id.clone()));
        let ids = messages.iter().map(|message| message.id.clone()).chain(calls);
        let asked = message_id(turn).into_iter().chain([format!("{}.input", turn.turn_id)]);
        out.extend(asked.chain(ids).map(|id| (id, turn.turn_id.clone())));
    }
    out
}

/// An entry of the history that the client brought: it gets back what it gave.
fn add_brought(brought: &Item, out: &mut Vec<Message>) {
    let id = brought.id().unwrap_or_default().into_owned();
    match brought {
        Item::Message(_) => {
            let text: Vec<&str> = shown_blocks(brought).iter().filter_map(Block::text).collect();
            out.push(Message::new(id, role(brought), Some(text.join("\n").into())));
        }
        Item::ToolCall(call) => {
            let function = Function { name: call.name.clone(), arguments: call.arguments.clone() };
            let call = ToolCall { id: call.call_id.clone(), r#type: "function", function };
            add_call(id, None, call, out);
        }
        Item::ToolResult(result) => {
            let mut message = Message::new(id, "tool", Some(result_content(brought)));
            message.tool_call_id = Some(result.call_id.clone());
            add_result(message, &result.call_id, out);
        }
        Item::Reasoning(_) | Item::Handoff(_) | Item::Error(_) | Item::Hosted(_) | Item::Other(_) => {}
    }
}

fn add(state: &State, happening: Happening, out: &mut Vec<Message>) {
    match happening {
        Happening::TextStarted(spot) => {
            let role = match spot.list {
                List::Blocks => role(item(state, spot.item)),
                List::Summary | List::Raw => "reasoning",
            };
            let mut message = Message::new(spot_id(state, spot), role, Some(text(state, spot).into()));
            message.subagent_run_id = subagent(state, spot.item.task);
            out.push(message);
        }
        Happening::CallStarted(at) => {
            let Item::ToolCall(call) = item(state, at) else { return };
            let function = Function { name: call.name.clone(), arguments: call.arguments.clone() };
            let call = ToolCall { id: call.call_id.clone(), r#type: "function", function };
            add_call(parent_message(state, at), subagent(state, at.task), call, out);
        }
        Happening::Result(at) => {
            let Item::ToolResult(result) = item(state, at) else { return };
            let content = result_content(item(state, at));
            let mut message = Message::new(item_id(state, at), "tool", Some(content));
            message.tool_call_id = Some(result.call_id.clone());
            message.subagent_run_id = subagent(state, at.task);
            add_result(message, &result.call_id, out);
        }
        Happening::Block(at) => {
            let mut message = Message::new(block_id(state, at), "activity", Some(block_content(state, at)));
            message.activity_type = Some(BLOCK);
            message.subagent_run_id = subagent(state, at.item.task);
            out.push(message);
        }
        _ => {}
    }
}

/// The block and the message that it belongs to.
pub(super) fn block_content(state: &State, at: PartAt) -> Value {
    json!({"messageId": item_id(state, at.item), "block": block(state, at)})
}

/// A client puts a result behind the message of its call, before messages that a sub-agent sent meanwhile.
fn add_result(message: Message, call: &str, out: &mut Vec<Message>) {
    let is_caller = |message: &Message| message.tool_calls.iter().any(|made| made.id == call);
    let Some(caller) = out.iter().position(is_caller) else { return out.push(message) };
    let results = out[caller + 1..].iter().take_while(|message| message.role == "tool").count();
    out.insert(caller + 1 + results, message);
}

fn add_call(parent: String, owner: Option<String>, call: ToolCall, out: &mut Vec<Message>) {
    match out.iter_mut().rev().find(|message| message.id == parent) {
        Some(message) => message.tool_calls.push(call),
        None => {
            let mut message = Message::new(parent, "assistant", None);
            message.tool_calls.push(call);
            message.subagent_run_id = owner;
            out.push(message);
        }
    }
}
