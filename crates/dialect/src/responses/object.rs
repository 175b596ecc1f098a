//! The response object.

use riverrun_event::Usage;

use super::error::write_response_error;
use super::item::write_told;
use super::response_id;
use super::told::Told;
use crate::members::{List, Members};
use crate::turn::{Ending, Stop, View, seconds};

/// Members of the request that the response echoes besides those of every response.
const ECHOED: [&str; 17] = [
    "conversation",
    "max_output_tokens",
    "max_tool_calls",
    "previous_response_id",
    "prompt",
    "prompt_cache_key",
    "reasoning",
    "safety_identifier",
    "service_tier",
    "store",
    "temperature",
    "text",
    "top_logprobs",
    "top_p",
    "truncation",
    "user",
    "context_management",
];

pub(super) fn status(view: &View<'_>) -> &'static str {
    match &view.ending {
        Some(Ending::Completed(Stop::End | Stop::Refusal | Stop::Sequence | Stop::Pause)) => "completed",
        Some(Ending::Completed(Stop::Length | Stop::Filter)) => "incomplete",
        Some(Ending::Failed { .. }) => "failed",
        Some(Ending::Cancelled) => "cancelled",
        None if super::has_started(view) => "in_progress",
        None => "queued",
    }
}

/// Members stand in the order in which clients are used to see them; what is unknown is `null` where the protocol
/// demands the member.
pub(super) fn write_response(out: &mut String, view: &View<'_>, status: &str, told: &[Told]) {
    let mut members = Members::open(out);
    members.text("id", &response_id(&view.turn.turn_id));
    members.text("object", "response");
    members.number("created_at", view.created());
    members.text("status", status);
    members.text("model", &view.model());
    members.with("output", |out| {
        let mut list = List::open(out);
        told.iter().for_each(|told| write_told(list.entry(), view, told));
        list.close();
    });
    members.raw("parallel_tool_calls", echoed(view, "parallel_tool_calls").unwrap_or("true"));
    members.raw("tool_choice", echoed(view, "tool_choice").unwrap_or("\"auto\""));
    members.raw("tools", echoed(view, "tools").unwrap_or("[]"));
    match &view.ending {
        Some(Ending::Failed { error }) => members.with("error", |out| write_response_error(out, error)),
        Some(Ending::Completed(_) | Ending::Cancelled) | None => members.raw("error", "null"),
    }
    members.raw("incomplete_details", incomplete(view));
    members.raw("instructions", echoed(view, "instructions").unwrap_or("null"));
    members.raw("metadata", echoed(view, "metadata").unwrap_or("{}"));
    members.raw("background", echoed(view, "background").unwrap_or("false"));
    match view.ending {
        Some(_) => members.with("usage", |out| write_usage(out, &view.turn.usage)),
        None => members.raw("usage", "null"),
    }
    for name in ECHOED {
        if let Some(value) = echoed(view, name) {
            members.raw(name, value);
        }
    }
    if let (Some(Ending::Completed(_)), Some(ended)) = (&view.ending, view.turn.ended_at) {
        members.number("completed_at", seconds(ended));
    }
    members.close();
}

fn echoed<'a>(view: &View<'a>, name: &str) -> Option<&'a str> {
    view.facts.get(name).map(|value| value.get())
}

fn incomplete(view: &View<'_>) -> &'static str {
    match view.ending {
        Some(Ending::Completed(Stop::Length)) => "{\"reason\":\"max_output_tokens\"}",
        Some(Ending::Completed(Stop::Filter)) => "{\"reason\":\"content_filter\"}",
        Some(
            Ending::Completed(Stop::End | Stop::Refusal | Stop::Sequence | Stop::Pause)
            | Ending::Failed { .. }
            | Ending::Cancelled,
        )
        | None => "null",
    }
}

fn write_usage(out: &mut String, usage: &Usage) {
    if *usage == Usage::default() {
        return out.push_str("null");
    }
    let (input, output) = (usage.input_tokens.unwrap_or(0), usage.output_tokens.unwrap_or(0));
    let (cached, reasoning) = (usage.cached_input_tokens.unwrap_or(0), usage.reasoning_tokens.unwrap_or(0));
    let mut members = Members::open(out);
    members.number("input_tokens", input);
    let written = usage.cache_write_input_tokens.unwrap_or(0);
    let details = format!("{{\"cached_tokens\":{cached},\"cache_write_tokens\":{written}}}");
    members.raw("input_tokens_details", &details);
    members.number("output_tokens", output);
    members.raw("output_tokens_details", &format!("{{\"reasoning_tokens\":{reasoning}}}"));
    members.number("total_tokens", usage.total_tokens.unwrap_or(input + output));
    members.close();
}
