//! The response object.

use std::collections::BTreeMap;

use riverrun_event::{RawJson, Usage};

use super::error::write_response_error;
use super::item::write_entry;
use super::output_entry::OutputEntry;
use super::response_id;
use crate::members::{List, Members};
use crate::turn::{Stop, TurnEnding, View, seconds};

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

/// Members that every response has and that a service may say too.
const WRITTEN: [&str; 6] =
    ["parallel_tool_calls", "tool_choice", "tools", "instructions", "metadata", "background"];

pub(super) fn status(view: &View<'_>) -> &'static str {
    match &view.ending {
        Some(TurnEnding::Completed(Stop::End | Stop::Refusal | Stop::Sequence | Stop::Pause)) => "completed",
        Some(TurnEnding::Completed(Stop::Length | Stop::Filter)) => "incomplete",
        Some(TurnEnding::Failed { .. }) => "failed",
        Some(TurnEnding::Cancelled) => "cancelled",
        None if super::has_started(view) => "in_progress",
        None => "queued",
    }
}

/// Members stand in the order in which clients are used to see them; what is unknown is `null` where the protocol
/// demands the member.
pub(super) fn write_response(out: &mut String, view: &View<'_>, status: &str, entries: &[OutputEntry]) {
    let mut service = view.service_members("responses");
    let usage = service.remove("usage");
    let members_of_service = ServiceMembers { view, service };
    let mut members = Members::open(out);
    members.text("id", &response_id(&view.turn.turn_id));
    members.text("object", "response");
    members.number("created_at", view.created());
    members.text("status", status);
    members.text("model", &view.model());
    members.with("output", |out| {
        let mut list = List::open(out);
        entries.iter().for_each(|entries| write_entry(list.entry(), view, entries));
        list.close();
    });
    members.raw("parallel_tool_calls", members_of_service.get("parallel_tool_calls").unwrap_or("true"));
    members.raw("tool_choice", members_of_service.get("tool_choice").unwrap_or("\"auto\""));
    members.raw("tools", members_of_service.get("tools").unwrap_or("[]"));
    match &view.ending {
        Some(TurnEnding::Failed { error }) => members.with("error", |out| write_response_error(out, error)),
        Some(TurnEnding::Completed(_) | TurnEnding::Cancelled) | None => members.raw("error", "null"),
    }
    members.raw("incomplete_details", incomplete(view));
    members.raw("instructions", members_of_service.get("instructions").unwrap_or("null"));
    members.raw("metadata", members_of_service.get("metadata").unwrap_or("{}"));
    members.raw("background", members_of_service.get("background").unwrap_or("false"));
    match (view.ending.as_ref(), usage) {
        (Some(_), Some(entries)) => members.raw("usage", entries.get()),
        (Some(_), None) => members.with("usage", |out| write_usage(out, &view.turn.usage)),
        (None, _) => members.raw("usage", "null"),
    }
    for name in ECHOED {
        if let Some(value) = members_of_service.get(name) {
            members.raw(name, value);
        }
    }
    for (name, value) in members_of_service.service.iter().filter(|(name, _)| !is_written(name)) {
        members.raw_with_name(name, value.get());
    }
    members.maybe_text("riverrun_model", view.service_model());
    if let (Some(TurnEnding::Completed(_)), Some(ended)) = (&view.ending, view.turn.ended_at) {
        members.number("completed_at", seconds(ended));
    }
    members.close();
}

/// What the service says of its answer, else what the client asked for.
struct ServiceMembers<'a> {
    view: &'a View<'a>,
    service: BTreeMap<String, RawJson>,
}

impl ServiceMembers<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        self.service.get(name).or_else(|| self.view.facts.get(name)).map(RawJson::get)
    }
}

fn is_written(name: &str) -> bool {
    ECHOED.contains(&name) || WRITTEN.contains(&name)
}

fn incomplete(view: &View<'_>) -> &'static str {
    match view.ending {
        Some(TurnEnding::Completed(Stop::Length)) => "{\"reason\":\"max_output_tokens\"}",
        Some(TurnEnding::Completed(Stop::Filter)) => "{\"reason\":\"content_filter\"}",
        Some(
            TurnEnding::Completed(Stop::End | Stop::Refusal | Stop::Sequence | Stop::Pause)
            | TurnEnding::Failed { .. }
            | TurnEnding::Cancelled,
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
