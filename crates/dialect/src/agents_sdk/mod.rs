//! `agents-sdk`: the three kinds of stream events of the OpenAI Agents SDK.
//! `README.md` has the mapping and what is lost.

mod item;

use riverrun_event::{ActionRequired, Item};
use riverrun_fold::State;
use serde_json::{Value, json};

use crate::follow::{
    Encode, Happening, List, Shell, Spot, Telling, arguments, item as item_at, item_id, pending, text, turn,
};
use crate::{Frames, Options};

/// A projector that goes on where `state` stands.
pub(crate) fn projector(state: State, options: Options) -> Shell<AgentsSdk> {
    Shell::new(state, options, |_, _| AgentsSdk)
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AgentsSdk;

impl Encode for AgentsSdk {
    /// What happens below the root task does not enter the parent's stream.
    fn tell(&mut self, told: &Telling<'_>, happening: Happening, frames: &mut Frames) {
        match happening {
            Happening::Began { .. } | Happening::Agent => agent_updated(told, frames),
            Happening::ItemStarted(at) | Happening::CallStarted(at) if told.is_root(at) => {
                let raw = item::begun(told.state, at);
                raw_event(
                    told,
                    frames,
                    "response.output_item.added",
                    json!({"output_index": at.item, "item": raw}),
                );
            }
            Happening::Text { at, from } if told.is_root(at.item) => text_delta(told, at, from, frames),
            Happening::Arguments { at, from } if told.is_root(at) => {
                let delta = &arguments(told.state, at)[from..];
                let data =
                    json!({"item_id": item_id(told.state, at), "output_index": at.item, "delta": delta});
                raw_event(told, frames, "response.function_call_arguments.delta", data);
            }
            Happening::ItemEnded(at) | Happening::CallEnded(at) if told.is_root(at) => {
                let raw = item::raw(told.state, at);
                raw_event(
                    told,
                    frames,
                    "response.output_item.done",
                    json!({"output_index": at.item, "item": raw}),
                );
                item::names(item_at(told.state, at)).iter().for_each(|name| run_item(told, at, name, frames));
            }
            Happening::Result(at) | Happening::Other(at) if told.is_root(at) => {
                item::names(item_at(told.state, at)).iter().for_each(|name| run_item(told, at, name, frames));
            }
            Happening::Paused | Happening::Ended => complete(told, frames),
            _ => {}
        }
    }
}

fn agent_updated(told: &Telling<'_>, frames: &mut Frames) {
    let of_turn = turn(told.state, told.turn).and_then(|turn| turn.agent.as_deref());
    let name = told.state.agent.as_deref().or(of_turn).unwrap_or("agent");
    told.push(frames, &json!({"type": "agent_updated_stream_event", "new_agent": {"name": name}}));
}

/// `sequence_number` is the log's: it rises over the whole run, where the SDK begins anew with every model call.
fn raw_event(told: &Telling<'_>, frames: &mut Frames, kind: &str, mut data: Value) {
    data["type"] = json!(kind);
    data["sequence_number"] = json!(told.state.sequence.get());
    told.push(frames, &json!({"type": "raw_response_event", "data": data}));
}

fn text_delta(told: &Telling<'_>, at: Spot, from: usize, frames: &mut Frames) {
    let delta = &text(told.state, at)[from..];
    let mut data =
        json!({"item_id": item_id(told.state, at.item), "output_index": at.item.item, "delta": delta});
    let (kind, index) = match at.list {
        List::Blocks => ("response.output_text.delta", "content_index"),
        List::Summary => ("response.reasoning_summary_text.delta", "summary_index"),
        List::Raw => ("response.reasoning_text.delta", "content_index"),
    };
    data[index] = json!(at.part);
    if at.list == List::Blocks {
        data["logprobs"] = json!([]);
    }
    raw_event(told, frames, kind, data);
}

fn run_item(told: &Telling<'_>, at: riverrun_fold::ItemAt, name: &item::Name, frames: &mut Frames) {
    let agent = agent_of(told, at);
    let mut body = json!({
        "type": name.item_type,
        "agent": {"name": agent},
        "raw_item": item::raw_for(told.state, at, name),
    });
    if let Item::ToolResult(_) = item_at(told.state, at) {
        body["output"] = json!(crate::follow::result_text(item_at(told.state, at)));
    }
    told.push(frames, &json!({"type": "run_item_stream_event", "name": name.event, "item": body}));
}

/// Whose item it is, by the hand-offs before it. The agent that acts now may be another one.
fn agent_of<'a>(told: &Telling<'a>, at: riverrun_fold::ItemAt) -> &'a str {
    let output = &told.state.tasks[at.task].output;
    if let Item::Message(message) = &output[at.item]
        && let Some(agent) = &message.agent
    {
        return agent;
    }
    let handed = output[..at.item].iter().rev().find_map(|item| match item {
        Item::Handoff(handoff) => Some(handoff.to.as_str()),
        _ => None,
    });
    let of_turn = turn(told.state, told.turn).and_then(|turn| turn.agent.as_deref());
    handed.or(of_turn).unwrap_or("agent")
}

/// The SDK's iterator just ends; on a wire the end must be said, with what its result object then has.
fn complete(told: &Telling<'_>, frames: &mut Frames) {
    let Some(turn) = turn(told.state, told.turn) else { return };
    let interruption = |action: &riverrun_fold::Action| {
        let request: ActionRequired = action.request.to().unwrap_or_default();
        json!({
            "type": "tool_approval_item",
            "action_id": action.action_id.as_str(),
            "tool_name": request.tool_name,
            "call_id": action.tool_call_id.as_ref().map(|id| id.as_str()),
            "arguments": request.arguments.and_then(|raw| raw.to::<Value>().ok()),
        })
    };
    let interruptions: Vec<Value> = pending(told.state, told.turn).map(interruption).collect();
    let output: Option<Value> = turn.final_output.as_ref().and_then(|raw| raw.to().ok());
    told.push(
        frames,
        &json!({
            "type": "run_complete_event",
            "is_complete": true,
            "status": turn.status.as_str(),
            "final_output": output,
            "interruptions": interruptions,
            "error": turn.error.as_ref().map(|error| json!({"code": error.code, "message": error.message})),
        }),
    );
}
