//! LangGraph's classic run stream, modes `messages` and `values`. `README.md` has the mapping and what is lost.

use riverrun_event::{Block, Item};
use riverrun_fold::{ItemAt, State, Status};
use serde_json::{Value, json};

use crate::follow::{
    Encode, Happening, List, Shell, Telling, arguments, happenings, item, item_id, pending, result_text,
    shown_blocks, text, turn,
};
use crate::{Frames, Options};

/// A projector that goes on where `state` stands.
pub(crate) fn projector(state: State, options: Options) -> Shell<LangGraph> {
    Shell::new(state, options, |_, _| LangGraph)
}

/// The frames' names are the stream modes and stand in `event:`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LangGraph;

impl Encode for LangGraph {
    /// Sub-graphs are not asked for, so what happens below the root task is not sent.
    fn tell(&mut self, told: &Telling<'_>, happening: Happening, frames: &mut Frames) {
        match happening {
            Happening::Began { .. } => {
                let run = json!({"run_id": told.turn.as_str(), "thread_id": told.session()});
                told.push_named(frames, "metadata", &run);
            }
            Happening::Text { at, from } if told.is_root(at.item) => {
                let delta = &text(told.state, at)[from..];
                let id = item_id(told.state, at.item);
                let chunk = match at.list {
                    List::Blocks => json!({"type": "AIMessageChunk", "id": id, "content": delta}),
                    List::Summary | List::Raw => json!({
                        "type": "AIMessageChunk", "id": id, "content": "",
                        "additional_kwargs": {"reasoning_content": delta},
                    }),
                };
                messages(told, frames, "agent", chunk);
            }
            Happening::CallStarted(at) if told.is_root(at) => {
                let Item::ToolCall(call) = item(told.state, at) else { return };
                let first = json!({"index": at.item, "id": call.call_id, "name": call.name, "args": ""});
                call_chunk(told, at, first, frames);
            }
            Happening::Arguments { at, from } if told.is_root(at) => {
                let rest = json!({"index": at.item, "args": &arguments(told.state, at)[from..]});
                call_chunk(told, at, rest, frames);
            }
            Happening::Result(at) if told.is_root(at) => {
                let message = message_of(told.state, at).unwrap_or_default();
                messages(told, frames, "tools", message);
            }
            Happening::Paused => {
                values(told, frames);
                end(told, frames);
            }
            Happening::Ended => ended(told, frames),
            _ => {}
        }
    }
}

fn messages(told: &Telling<'_>, frames: &mut Frames, node: &str, message: Value) {
    told.push_named(frames, "messages", &json!([message, {"langgraph_node": node}]));
}

fn call_chunk(told: &Telling<'_>, at: ItemAt, chunk: Value, frames: &mut Frames) {
    let id = item_id(told.state, at);
    let message = json!({"type": "AIMessageChunk", "id": id, "content": "", "tool_call_chunks": [chunk]});
    messages(told, frames, "agent", message);
}

/// One item as a message of the graph's state.
fn message_of(state: &State, at: ItemAt) -> Option<Value> {
    let id = item_id(state, at);
    match item(state, at) {
        Item::Message(_) => {
            let texts: String = shown_blocks(item(state, at)).iter().filter_map(Block::text).collect();
            Some(json!({"type": "ai", "id": id, "content": texts}))
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
        Item::Reasoning(_) | Item::Handoff(_) | Item::Error(_) | Item::Other(_) => None,
    }
}

/// The messages of this run, and what it waits for.
fn values(told: &Telling<'_>, frames: &mut Frames) {
    let Some(turn) = turn(told.state, told.turn) else { return };
    let told_items = happenings(told.state, turn).into_iter().filter_map(|happening| match happening {
        Happening::ItemStarted(at) | Happening::CallStarted(at) | Happening::Result(at) => Some(at),
        _ => None,
    });
    let own = told_items.filter(|at| told.is_root(*at));
    let messages: Vec<Value> = own.filter_map(|at| message_of(told.state, at)).collect();
    let mut values = json!({"messages": messages});
    let interrupt = |action: &riverrun_fold::Action| {
        let value: Value = action.request.to().unwrap_or_default();
        json!({"id": action.action_id.as_str(), "value": value})
    };
    let interrupts: Vec<Value> = pending(told.state, told.turn).map(interrupt).collect();
    if !interrupts.is_empty() {
        values["__interrupt__"] = json!(interrupts);
    }
    told.push_named(frames, "values", &values);
}

fn end(told: &Telling<'_>, frames: &mut Frames) {
    told.push_named(frames, "end", &Value::Null);
}

fn ended(told: &Telling<'_>, frames: &mut Frames) {
    let Some(turn) = turn(told.state, told.turn) else { return };
    match turn.status {
        Status::Completed | Status::Archived => {
            values(told, frames);
            end(told, frames);
        }
        status => {
            let error = turn.error.as_ref();
            let message = error.map_or(status.as_str(), |error| &error.message);
            let code = error.and_then(|error| error.code.as_deref()).unwrap_or(status.as_str());
            told.push_named(frames, "error", &json!({"error": code, "message": message}));
        }
    }
}
