//! LangGraph's classic run stream, modes `messages` and `values`. `README.md` has the mapping and what is lost.

use riverrun_event::json::write_string;
use riverrun_event::{Block, Item, TurnId};
use riverrun_fold::{ActionState, ActionStatus, ItemAt, State, Status};
use serde_json::{Value, json};

use crate::follow::{
    Encode, EncodeContext, Happening, List, Shell, Spot, arguments, happenings, is_child, is_input, item,
    item_id, pending, result_text, shown_blocks, text, turn,
};
use crate::request::RequestFailure;
use crate::{Frames, ReaderOptions};

/// A projector that continues from `state`.
pub(crate) fn projector(state: State, options: ReaderOptions) -> Shell<LangGraph> {
    Shell::new(state, options, |_, _| LangGraph)
}

/// The frames' names are the stream modes and stand in `event:`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LangGraph;

impl Encode for LangGraph {
    /// Sub-graphs are not asked for, so what happens below the root task is not sent.
    fn encode(&mut self, context: &EncodeContext<'_>, happening: Happening, frames: &mut Frames) {
        match happening {
            Happening::Began { .. } => {
                let run = json!({"run_id": context.turn.as_str(), "thread_id": context.session()});
                context.push_named(frames, "metadata", &run);
            }
            Happening::Text { at, from } if context.is_root(at.item) => text_chunk(context, at, from, frames),
            Happening::CallStarted(at) if context.is_root(at) => {
                let Item::ToolCall(call) = item(context.state, at) else { return };
                let first = json!({"index": at.item, "id": call.call_id, "name": call.name, "args": ""});
                call_chunk(context, at, first, frames);
            }
            Happening::Arguments { at, from } if context.is_root(at) => {
                arguments_chunk(context, at, from, frames);
            }
            Happening::Result(at) if context.is_root(at) => {
                let message = message_of(context.state, at).unwrap_or_default();
                messages(context, frames, "tools", message);
            }
            Happening::Paused => {
                push_values(context, frames);
                end(context, frames);
            }
            Happening::Ended => ended(context, frames),
            _ => {}
        }
    }
}

/// Written by hand: it is what nearly every event is.
fn text_chunk(context: &EncodeContext<'_>, at: Spot, from: usize, frames: &mut Frames) {
    let (delta, id) = (&text(context.state, at)[from..], item_id(context.state, at.item));
    frames.push_named(context.state.sequence, "messages", |out| {
        match at.list {
            List::Blocks => {
                out.push_str("[{\"content\":");
                write_string(out, delta);
            }
            List::Summary | List::Raw => {
                out.push_str("[{\"additional_kwargs\":{\"reasoning_content\":");
                write_string(out, delta);
                out.push_str("},\"content\":\"\"");
            }
        }
        out.push_str(",\"id\":");
        write_string(out, &id);
        out.push_str(",\"type\":\"AIMessageChunk\"},{\"langgraph_node\":\"agent\"}]");
    });
}

fn arguments_chunk(context: &EncodeContext<'_>, at: ItemAt, from: usize, frames: &mut Frames) {
    let (delta, id) = (&arguments(context.state, at)[from..], item_id(context.state, at));
    frames.push_named(context.state.sequence, "messages", |out| {
        out.push_str("[{\"content\":\"\",\"id\":");
        write_string(out, &id);
        out.push_str(",\"tool_call_chunks\":[{\"args\":");
        write_string(out, delta);
        out.push_str(",\"index\":");
        out.push_str(&at.item.to_string());
        out.push_str("}],\"type\":\"AIMessageChunk\"},{\"langgraph_node\":\"agent\"}]");
    });
}

fn messages(context: &EncodeContext<'_>, frames: &mut Frames, node: &str, message: Value) {
    context.push_named(frames, "messages", &json!([message, {"langgraph_node": node}]));
}

fn call_chunk(context: &EncodeContext<'_>, at: ItemAt, chunk: Value, frames: &mut Frames) {
    let id = item_id(context.state, at);
    let message = json!({"type": "AIMessageChunk", "id": id, "content": "", "tool_call_chunks": [chunk]});
    messages(context, frames, "agent", message);
}

/// One item as a message of the graph's state.
fn message_of(state: &State, at: ItemAt) -> Option<Value> {
    let id = item_id(state, at);
    match item(state, at) {
        Item::Message(_) => {
            let texts: String = shown_blocks(item(state, at)).iter().filter_map(Block::text).collect();
            let kind = if is_input(state, at) { "human" } else { "ai" };
            Some(json!({"type": kind, "id": id, "content": texts}))
        }
        Item::ToolCall(call) => {
            let args: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
            let call = json!({"id": call.call_id, "name": call.name, "args": args, "type": "tool_call"});
            Some(json!({"type": "ai", "id": id, "content": "", "tool_calls": [call]}))
        }
        Item::ToolResult(result) => {
            let content = result_text(item(state, at));
            Some(json!({"type": "tool", "id": id, "content": content, "tool_call_id": result.call_id}))
        }
        Item::Reasoning(_) | Item::Handoff(_) | Item::Error(_) | Item::Hosted(_) | Item::Other(_) => None,
    }
}

/// The graph's state: the messages of the turns that the state holds, up to this one, how many came before them, and
/// what the thread waits for.
pub fn values(state: &State, last: Option<&TurnId>) -> Value {
    let mut messages = Vec::new();
    for turn in &state.turns {
        if let Some(input) = &turn.input {
            let id = format!("{}.input", turn.turn_id);
            messages.push(json!({"type": "human", "id": id, "content": input.text()}));
        }
        let items = happenings(state, turn).into_iter().filter_map(|happening| match happening {
            Happening::ItemStarted(at) | Happening::CallStarted(at) | Happening::Result(at) => Some(at),
            _ => None,
        });
        let own = items.filter(|at| !is_child(state, at.task));
        messages.extend(own.filter_map(|at| message_of(state, at)));
        if last == Some(&turn.turn_id) {
            break;
        }
    }
    let mut values = json!({"messages": messages});
    if state.sealed_turns > 0 {
        values["earlier_turns"] = state.sealed_turns.into();
    }
    let interrupts = match last {
        Some(turn) => pending(state, turn).map(interrupt).collect(),
        None => interrupts(state),
    };
    if !interrupts.is_empty() {
        values["__interrupt__"] = json!(interrupts);
    }
    values
}

/// What a thread waits for.
pub fn interrupts(state: &State) -> Vec<Value> {
    state.actions.iter().filter(|action| action.status == ActionStatus::Pending).map(interrupt).collect()
}

fn interrupt(action: &ActionState) -> Value {
    let value: Value = action.request.to().unwrap_or_default();
    json!({"id": action.action_id.as_str(), "value": value})
}

/// `{"detail":…}`, as the client looks for it.
pub fn error_body(failure: &RequestFailure) -> String {
    json!({"detail": failure.message, "code": failure.code}).to_string()
}

/// Why a turn ended without success: `error` and `message`.
pub fn error(state: &State, turn: &TurnId) -> Option<Value> {
    let turn = crate::follow::turn(state, turn)?;
    let is_failure =
        turn.status.is_terminal() && !matches!(turn.status, Status::Completed | Status::Archived);
    is_failure.then(|| {
        let (status, error) = (turn.status.as_str(), turn.error.as_ref());
        let message = error.map_or(status, |error| &error.message);
        let code = error.and_then(|error| error.code.as_deref()).unwrap_or(status);
        json!({"error": code, "message": message})
    })
}

fn push_values(context: &EncodeContext<'_>, frames: &mut Frames) {
    if turn(context.state, context.turn).is_some() {
        context.push_named(frames, "values", &values(context.state, Some(context.turn)));
    }
}

fn end(context: &EncodeContext<'_>, frames: &mut Frames) {
    context.push_named(frames, "end", &Value::Null);
}

fn ended(context: &EncodeContext<'_>, frames: &mut Frames) {
    match error(context.state, context.turn) {
        Some(error) => context.push_named(frames, "error", &error),
        None => {
            push_values(context, frames);
            end(context, frames);
        }
    }
}
