//! `raw_response_event`: a model call in the events of the Responses API.

use riverrun_event::json::write_string;
use riverrun_event::{Event, Item, Payload};
use riverrun_fold::ItemAt;
use serde_json::{Value, json};

use super::item::{self, Extent};
use super::response::{End, Response, is_rebuilt};
use crate::Frames;
use crate::follow::{
    EncodeContext, List, Spot, arguments as arguments_of, item as item_at, item_id, text, turn,
};
use crate::members::{Members, write_list};

/// What every rebuilt event has at its end: the service did not send it.
const REBUILT: &str = ",\"rebuilt\":true,\"type\":\"raw_response_event\"}";

fn push(context: &EncodeContext<'_>, frames: &mut Frames, write: impl FnOnce(&mut Members<'_>)) {
    frames.push(context.state.sequence, |out| {
        out.push_str("{\"data\":");
        let mut members = Members::open(out);
        write(&mut members);
        members.close();
        out.push_str(REBUILT);
    });
}

/// An event of the service, as it came.
pub(super) fn original(context: &EncodeContext<'_>, event: &Value, frames: &mut Frames) {
    frames.push(context.state.sequence, |out| {
        out.push_str("{\"data\":");
        out.push_str(&event.to_string());
        out.push_str(",\"type\":\"raw_response_event\"}");
    });
}

pub(super) fn opened(context: &EncodeContext<'_>, response: &mut Response, frames: &mut Frames) {
    let mut object = String::new();
    write_response(&mut object, context, response, End::Open);
    for kind in ["response.created", "response.in_progress"] {
        let number = response.next_number();
        push(context, frames, |data| {
            data.raw("response", &object);
            data.number("sequence_number", number);
            data.text("type", kind);
        });
    }
}

pub(super) fn ended(context: &EncodeContext<'_>, response: &mut Response, end: End, frames: &mut Frames) {
    let number = response.next_number();
    push(context, frames, |data| {
        data.with("response", |out| write_response(out, context, response, end));
        data.number("sequence_number", number);
        data.text("type", if end == End::Failed { "response.failed" } else { "response.completed" });
    });
}

/// The response as a whole. Its id is the turn's and the place of its first item.
fn write_response(out: &mut String, context: &EncodeContext<'_>, response: &Response, end: End) {
    let of_turn = turn(context.state, context.turn);
    let began = of_turn.and_then(|turn| turn.started_at.or(turn.submitted_at)).unwrap_or_default();
    let mut members = Members::open(out);
    members.raw("created_at", &(began.millis() / 1000).to_string());
    match end {
        End::Open | End::Completed | End::Unusable => members.raw("error", "null"),
        End::Failed => {
            let error = of_turn.and_then(|turn| turn.error.as_ref());
            let message = error.map_or("the model call failed", |error| &error.message);
            members.raw("error", &json!({"code": "server_error", "message": message}).to_string());
        }
    }
    members.text("id", &format!("resp_{}_{}", context.turn, response.first.item));
    members.text("model", "riverrun");
    members.text("object", "response");
    let output = response
        .remaining_items(context.state, None)
        .filter(|at| end != End::Open && is_rebuilt(context.state, *at));
    members.with("output", |out| {
        write_list(out, output, |out, at| item::write_raw(out, context.state, at, Extent::Whole));
    });
    members.flag("parallel_tool_calls", true);
    members.text("status", end.status());
    members.text("tool_choice", "auto");
    members.raw("tools", "[]");
    members.close();
}

pub(super) fn item_added(
    context: &EncodeContext<'_>,
    response: &mut Response,
    at: ItemAt,
    frames: &mut Frames,
) {
    item(context, response, at, (Extent::Begun, "response.output_item.added"), frames);
}

fn item(
    context: &EncodeContext<'_>,
    response: &mut Response,
    at: ItemAt,
    (extent, kind): (Extent, &str),
    frames: &mut Frames,
) {
    let (number, output_index) = (response.next_number(), response.output_index(context.state, at));
    push(context, frames, |data| {
        data.with("item", |out| item::write_raw(out, context.state, at, extent));
        data.number("output_index", output_index);
        data.number("sequence_number", number);
        data.text("type", kind);
    });
}

/// What was broken off has no end of its own.
pub(super) fn item_done(
    context: &EncodeContext<'_>,
    response: &mut Response,
    at: ItemAt,
    frames: &mut Frames,
) {
    if item::is_broken_off(item_at(context.state, at)) {
        return;
    }
    if let Item::ToolCall(call) = item_at(context.state, at) {
        let (number, output_index) = (response.next_number(), response.output_index(context.state, at));
        push(context, frames, |data| {
            data.text("arguments", &call.arguments);
            data.text("item_id", &item_id(context.state, at));
            data.text("name", &call.name);
            data.number("output_index", output_index);
            data.number("sequence_number", number);
            data.text("type", "response.function_call_arguments.done");
        });
    }
    item(context, response, at, (Extent::Whole, "response.output_item.done"), frames);
}

pub(super) fn arguments(
    context: &EncodeContext<'_>,
    response: &mut Response,
    at: ItemAt,
    from: usize,
    frames: &mut Frames,
) {
    let delta = &arguments_of(context.state, at)[from..];
    let numbers = Numbers::next(context, response, at);
    let id = item_id(context.state, at);
    frames.push(context.state.sequence, |out| {
        out.push_str("{\"data\":{\"delta\":");
        write_string(out, delta);
        out.push_str(",\"item_id\":");
        write_string(out, &id);
        tail(out, numbers, "response.function_call_arguments.delta");
    });
}

/// Written by hand: it is what nearly every event is.
pub(super) fn delta(
    context: &EncodeContext<'_>,
    response: &mut Response,
    at: Spot,
    from: usize,
    frames: &mut Frames,
) {
    let delta = &text(context.state, at)[from..];
    let numbers = Numbers::next(context, response, at.item);
    let id = item_id(context.state, at.item);
    frames.push(context.state.sequence, |out| {
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
                tail(out, numbers, "response.output_text.delta");
            }
            List::Summary => {
                tail_of_summary(out, numbers, at, "response.reasoning_summary_text.delta");
            }
            List::Raw => tail(out, numbers, "response.reasoning_text.delta"),
        }
    });
}

/// The numbers of a rebuilt event.
#[derive(Clone, Copy)]
struct Numbers {
    output_index: u64,
    sequence_number: u64,
}

impl Numbers {
    fn next(context: &EncodeContext<'_>, response: &mut Response, at: ItemAt) -> Self {
        Self {
            output_index: response.output_index(context.state, at),
            sequence_number: response.next_number(),
        }
    }

    fn write(self, out: &mut String) {
        out.push_str(",\"output_index\":");
        out.push_str(&self.output_index.to_string());
        out.push_str(",\"sequence_number\":");
        out.push_str(&self.sequence_number.to_string());
    }
}

fn kind(out: &mut String, kind: &str) {
    out.push_str(",\"type\":\"");
    out.push_str(kind);
    out.push_str("\"}");
    out.push_str(REBUILT);
}

fn tail(out: &mut String, numbers: Numbers, word: &str) {
    numbers.write(out);
    kind(out, word);
}

fn tail_of_summary(out: &mut String, numbers: Numbers, at: Spot, word: &str) {
    numbers.write(out);
    out.push_str(",\"summary_index\":");
    out.push_str(&at.part.to_string());
    kind(out, word);
}

pub(super) fn part_added(
    context: &EncodeContext<'_>,
    response: &mut Response,
    at: Spot,
    frames: &mut Frames,
) {
    part(context, response, at, ("", "added"), frames);
}

pub(super) fn part_done(context: &EncodeContext<'_>, response: &mut Response, at: Spot, frames: &mut Frames) {
    if item::is_broken_off(item_at(context.state, at.item)) {
        return;
    }
    let text = text(context.state, at);
    let kind = match at.list {
        List::Blocks => "response.output_text.done",
        List::Summary => "response.reasoning_summary_text.done",
        List::Raw => "response.reasoning_text.done",
    };
    let Numbers { output_index, sequence_number: number } = Numbers::next(context, response, at.item);
    push(context, frames, |data| {
        content_index(data, at);
        data.text("item_id", &item_id(context.state, at.item));
        if at.list == List::Blocks {
            data.raw("logprobs", "[]");
        }
        data.number("output_index", output_index);
        data.number("sequence_number", number);
        summary_index(data, at);
        data.text("text", text);
        data.text("type", kind);
    });
    part(context, response, at, (text, "done"), frames);
}

fn part(
    context: &EncodeContext<'_>,
    response: &mut Response,
    at: Spot,
    (text, change): (&str, &str),
    frames: &mut Frames,
) {
    let Numbers { output_index, sequence_number: number } = Numbers::next(context, response, at.item);
    push(context, frames, |data| {
        content_index(data, at);
        data.text("item_id", &item_id(context.state, at.item));
        data.number("output_index", output_index);
        data.with("part", |out| write_part(out, at.list, text));
        data.number("sequence_number", number);
        summary_index(data, at);
        let name = if at.list == List::Summary { "reasoning_summary_part" } else { "content_part" };
        data.with("type", |out| {
            for piece in ["\"response.", name, ".", change, "\""] {
                out.push_str(piece);
            }
        });
    });
}

fn write_part(out: &mut String, list: List, text: &str) {
    match list {
        List::Blocks => item::write_text(out, text),
        List::Summary => item::write_summary(out, text),
        List::Raw => {
            let mut members = Members::open(out);
            members.text("text", text);
            members.text("type", "reasoning_text");
            members.close();
        }
    }
}

fn content_index(data: &mut Members<'_>, at: Spot) {
    if at.list != List::Summary {
        data.number("content_index", at.part as u64);
    }
}

fn summary_index(data: &mut Members<'_>, at: Spot) {
    if at.list == List::Summary {
        data.number("summary_index", at.part as u64);
    }
}

/// An event of the Responses API that the log keeps under its own name, forwarded unchanged.
pub(super) fn passed(context: &EncodeContext<'_>, event: &Event, frames: &mut Frames) {
    let Ok(Payload::Other(raw)) = &event.payload else { return };
    let name = event.kind.as_str();
    let is_ours = event.scope.turn_id.as_ref() == Some(context.turn) && event.scope.parent_task_id.is_none();
    let Some(members) = raw.get().strip_prefix('{').filter(|_| is_ours && name.starts_with("response."))
    else {
        return;
    };
    frames.push(context.state.sequence, |out| {
        out.push_str("{\"data\":{\"type\":");
        write_string(out, name);
        out.push_str(if members == "}" { "" } else { "," });
        out.push_str(members);
        out.push_str(",\"type\":\"raw_response_event\"}");
    });
}
