//! `raw_response_event`: a model call in the events of the Responses API.

use riverrun_event::json::write_string;
use riverrun_event::{Event, Item, Payload};
use riverrun_fold::ItemAt;
use serde_json::{Value, json};

use super::item;
use super::response::{End, Response};
use crate::Frames;
use crate::follow::{List, Spot, Telling, arguments as arguments_of, item as item_at, item_id, text, turn};

/// `sequence_number` is the log's: it rises over the whole run, where the SDK begins anew with every model call.
fn push(told: &Telling<'_>, frames: &mut Frames, kind: &str, mut data: Value) {
    data["type"] = json!(kind);
    data["sequence_number"] = json!(told.state.sequence.get());
    let data = data.to_string();
    frames.push(told.state.sequence, |out| {
        out.push_str("{\"data\":");
        out.push_str(&data);
        out.push_str(",\"type\":\"raw_response_event\"}");
    });
}

pub(super) fn opened(told: &Telling<'_>, response: &Response, frames: &mut Frames) {
    let object = object(told, response, "in_progress", Vec::new()).to_string();
    for kind in ["response.created", "response.in_progress"] {
        frames.push(told.state.sequence, |out| {
            out.push_str("{\"data\":{\"response\":");
            out.push_str(&object);
            out.push_str(",\"sequence_number\":");
            out.push_str(&told.state.sequence.get().to_string());
            self::kind(out, kind);
        });
    }
}

pub(super) fn ended(told: &Telling<'_>, response: &Response, end: End, frames: &mut Frames) {
    let output = response.kept(told.state, None).map(|at| item::raw(told.state, at));
    let (kind, status) = match end {
        End::Completed => ("response.completed", "completed"),
        End::Failed => ("response.failed", "failed"),
    };
    let mut object = object(told, response, status, output.collect());
    if end == End::Failed {
        let error = turn(told.state, told.turn).and_then(|turn| turn.error.as_ref());
        let message = error.map_or("the model call failed", |error| &error.message);
        object["error"] = json!({"code": "server_error", "message": message});
    }
    push(told, frames, kind, json!({ "response": object }));
}

/// The response as a whole. Its id is the turn's and the place of its first item.
fn object(told: &Telling<'_>, response: &Response, status: &str, output: Vec<Value>) -> Value {
    let began = turn(told.state, told.turn).and_then(|turn| turn.started_at.or(turn.submitted_at));
    json!({
        "id": format!("resp_{}_{}", told.turn, response.first.item),
        "object": "response", "created_at": began.unwrap_or_default().millis() / 1000,
        "status": status, "model": "riverrun", "output": output, "error": null,
        "parallel_tool_calls": true, "tool_choice": "auto", "tools": [],
    })
}

pub(super) fn item_added(told: &Telling<'_>, at: ItemAt, frames: &mut Frames) {
    let data = json!({"output_index": at.item, "item": item::begun(told.state, at)});
    push(told, frames, "response.output_item.added", data);
}

/// What was broken off has no end of its own.
pub(super) fn item_done(told: &Telling<'_>, at: ItemAt, frames: &mut Frames) {
    if item::is_broken_off(item_at(told.state, at)) {
        return;
    }
    if let Item::ToolCall(call) = item_at(told.state, at) {
        let data = json!({
            "item_id": item_id(told.state, at), "output_index": at.item, "name": call.name,
            "arguments": call.arguments,
        });
        push(told, frames, "response.function_call_arguments.done", data);
    }
    let data = json!({"output_index": at.item, "item": item::raw(told.state, at)});
    push(told, frames, "response.output_item.done", data);
}

pub(super) fn arguments(told: &Telling<'_>, at: ItemAt, from: usize, frames: &mut Frames) {
    let delta = &arguments_of(told.state, at)[from..];
    let id = item_id(told.state, at);
    frames.push(told.state.sequence, |out| {
        out.push_str("{\"data\":{\"delta\":");
        write_string(out, delta);
        out.push_str(",\"item_id\":");
        write_string(out, &id);
        tail(out, told, at.item, "response.function_call_arguments.delta");
    });
}

/// Written by hand: it is what nearly every event is.
pub(super) fn delta(told: &Telling<'_>, at: Spot, from: usize, frames: &mut Frames) {
    let delta = &text(told.state, at)[from..];
    let id = item_id(told.state, at.item);
    frames.push(told.state.sequence, |out| {
        out.push_str("{\"data\":{");
        if at.list != List::Summary {
            out.push_str("\"content_index\":");
            out.push_str(&at.part.to_string());
            out.push(',');
        }
        out.push_str("\"delta\":");
        write_string(out, delta);
        out.push_str(",\"item_id\":");
        write_string(out, &id);
        match at.list {
            List::Blocks => {
                out.push_str(",\"logprobs\":[]");
                tail(out, told, at.item.item, "response.output_text.delta");
            }
            List::Summary => {
                tail_of_summary(out, told, at, "response.reasoning_summary_text.delta");
            }
            List::Raw => tail(out, told, at.item.item, "response.reasoning_text.delta"),
        }
    });
}

fn place(out: &mut String, told: &Telling<'_>, output_index: usize) {
    out.push_str(",\"output_index\":");
    out.push_str(&output_index.to_string());
    out.push_str(",\"sequence_number\":");
    out.push_str(&told.state.sequence.get().to_string());
}

fn kind(out: &mut String, kind: &str) {
    out.push_str(",\"type\":\"");
    out.push_str(kind);
    out.push_str("\"},\"type\":\"raw_response_event\"}");
}

fn tail(out: &mut String, told: &Telling<'_>, output_index: usize, word: &str) {
    place(out, told, output_index);
    kind(out, word);
}

fn tail_of_summary(out: &mut String, told: &Telling<'_>, at: Spot, word: &str) {
    place(out, told, at.item.item);
    out.push_str(",\"summary_index\":");
    out.push_str(&at.part.to_string());
    kind(out, word);
}

pub(super) fn part_added(told: &Telling<'_>, at: Spot, frames: &mut Frames) {
    let (kind, part) = match at.list {
        List::Summary => ("response.reasoning_summary_part.added", part(at.list, "")),
        List::Blocks | List::Raw => ("response.content_part.added", part(at.list, "")),
    };
    push(told, frames, kind, with_place(told, at, json!({ "part": part })));
}

pub(super) fn part_done(told: &Telling<'_>, at: Spot, frames: &mut Frames) {
    if item::is_broken_off(item_at(told.state, at.item)) {
        return;
    }
    let said = text(told.state, at);
    let (text_kind, part_kind) = match at.list {
        List::Blocks => ("response.output_text.done", "response.content_part.done"),
        List::Summary => ("response.reasoning_summary_text.done", "response.reasoning_summary_part.done"),
        List::Raw => ("response.reasoning_text.done", "response.content_part.done"),
    };
    let mut data = with_place(told, at, json!({ "text": said }));
    if at.list == List::Blocks {
        data["logprobs"] = json!([]);
    }
    push(told, frames, text_kind, data);
    push(told, frames, part_kind, with_place(told, at, json!({"part": part(at.list, said)})));
}

fn part(list: List, text: &str) -> Value {
    match list {
        List::Blocks => json!({"type": "output_text", "text": text, "annotations": []}),
        List::Summary => json!({"type": "summary_text", "text": text}),
        List::Raw => json!({"type": "reasoning_text", "text": text}),
    }
}

fn with_place(told: &Telling<'_>, at: Spot, mut data: Value) -> Value {
    let index = if at.list == List::Summary { "summary_index" } else { "content_index" };
    data["item_id"] = json!(item_id(told.state, at.item));
    data["output_index"] = json!(at.item.item);
    data[index] = json!(at.part);
    data
}

/// An event of the Responses API that the log keeps under its own name: told as it came.
pub(super) fn passed(told: &Telling<'_>, event: &Event, frames: &mut Frames) {
    let Ok(Payload::Other(raw)) = &event.payload else { return };
    let name = event.kind.as_str();
    let is_ours = event.scope.turn_id.as_ref() == Some(told.turn) && event.scope.parent_task_id.is_none();
    let Some(members) = raw.get().strip_prefix('{').filter(|_| is_ours && name.starts_with("response."))
    else {
        return;
    };
    frames.push(told.state.sequence, |out| {
        out.push_str("{\"data\":{\"type\":");
        write_string(out, name);
        out.push_str(if members == "}" { "" } else { "," });
        out.push_str(members);
        out.push_str(",\"type\":\"raw_response_event\"}");
    });
}
