//! The named events of a response stream.

use std::collections::{BTreeMap, BTreeSet};

use riverrun_event::{RawJson, Usage};
use serde_json::{Map, Value, json};

use crate::failure::failure;
use crate::stream::{Answer, Json, Protocol, protocol_error};
use crate::{ItemKind, StopReason};

pub(crate) struct Responses {
    provider: String,
    seed: String,
    /// The service's output index → ours.
    items: BTreeMap<u64, u32>,
    refused: bool,
    /// What each message was said to cite.
    cited: BTreeSet<(u32, String)>,
    /// A message that is done. The whole response, if it comes next, may say what it cites.
    done: Option<(u32, Option<Value>)>,
    keeps_events: bool,
}

/// Members of a response that have a place here, or that the caller said.
const PLACED: [&str; 19] = [
    "id",
    "object",
    "created_at",
    "completed_at",
    "status",
    "model",
    "output",
    "output_text",
    "error",
    "incomplete_details",
    "instructions",
    "tools",
    "metadata",
    "background",
    "store",
    "previous_response_id",
    "conversation",
    "prompt",
    "parallel_tool_calls",
];

impl Responses {
    pub fn new(provider: &str, seed: &str) -> Self {
        Self {
            provider: provider.to_owned(),
            seed: seed.to_owned(),
            items: BTreeMap::new(),
            refused: false,
            cited: BTreeSet::new(),
            done: None,
            keeps_events: false,
        }
    }

    fn item_added(&mut self, frame: &Json, answer: &mut Answer) {
        let Some(output_index) = frame.number("output_index") else {
            return answer.fail(protocol_error("an item was added without an output_index"));
        };
        let item = &frame.value["item"];
        let text = |name: &str| item[name].as_str().unwrap_or_default().to_owned();
        let kind = match item["type"].as_str().unwrap_or_default() {
            "message" => ItemKind::Message,
            "reasoning" => ItemKind::Reasoning,
            "function_call" => {
                let own = || format!("call_{}_{output_index}", self.seed);
                let call_id = Some(text("call_id")).filter(|id| !id.is_empty()).unwrap_or_else(own);
                ItemKind::ToolCall { call_id, name: text("name") }
            }
            kind => ItemKind::Hosted { kind: kind.to_owned(), begun: RawJson::of(item).unwrap_or_default() },
        };
        if self.items.contains_key(&output_index) {
            return answer
                .fail(protocol_error(format!("two items were added at output_index {output_index}")));
        }
        if matches!(&kind, ItemKind::ToolCall { name, .. } if name.is_empty()) {
            return answer.fail(protocol_error("a function call came without its name"));
        }
        self.items.insert(output_index, answer.open(kind));
    }

    /// Our index of the item that a frame speaks of; a frame of an item that was never added ends the answer.
    fn index(&self, frame: &Json, answer: &mut Answer) -> Option<u32> {
        match frame.number("output_index").and_then(|output_index| self.items.get(&output_index)) {
            Some(index) => Some(*index),
            None => {
                let name = frame.text("type");
                answer.fail(protocol_error(format!("`{name}` came for an item that was not added")));
                None
            }
        }
    }

    fn item_done(&mut self, frame: &Json, answer: &mut Answer) {
        let item = &frame.value["item"];
        let Some(index) = self.index(frame, answer) else { return };
        match answer.kind_of(index) {
            Some(ItemKind::Hosted { .. }) => answer.done(index, Some(item.clone())),
            Some(ItemKind::ToolCall { .. }) => self.call_done(index, item, answer),
            Some(ItemKind::Reasoning) => answer.done(index, Some(item.clone())),
            Some(ItemKind::Message) => {
                self.whole_parts(index, item, answer);
                self.done = Some((index, self.own(item, &["phase"])));
            }
            None => {}
        }
    }

    /// The service repeats what the message says and cites; that is news only if it did not come before.
    fn whole_parts(&mut self, index: u32, item: &Value, answer: &mut Answer) {
        let has_text = answer.has_text(index);
        for part in item["content"].as_array().into_iter().flatten() {
            if let Some(text) = part["text"].as_str().filter(|_| !has_text) {
                answer.scored(index, text, &part["logprobs"]);
            }
            if let Some(refusal) = part["refusal"].as_str().filter(|_| !has_text) {
                self.refused = true;
                answer.refusal(index, refusal);
            }
            for annotation in part["annotations"].as_array().into_iter().flatten() {
                self.annotate(index, annotation, answer);
            }
        }
    }

    fn annotate(&mut self, index: u32, annotation: &Value, answer: &mut Answer) {
        if self.cited.insert((index, annotation.to_string())) {
            answer.annotate(index, annotation);
        }
    }

    fn write_done(&mut self, answer: &mut Answer) {
        if let Some((index, own)) = self.done.take() {
            answer.done(index, own);
        }
    }

    /// What the messages that are still open cite may stand only in the whole response.
    fn whole_output(&mut self, response: &Value, answer: &mut Answer) {
        let output = response["output"].as_array().into_iter().flatten();
        for (output_index, item) in (0..).zip(output).filter(|(_, item)| item["type"] == "message") {
            let Some(index) = self.items.get(&output_index).copied() else { continue };
            if matches!(answer.kind_of(index), Some(ItemKind::Message)) && !answer.is_done(index) {
                self.whole_parts(index, item, answer);
            }
        }
        self.write_done(answer);
    }

    fn call_done(&mut self, index: u32, item: &Value, answer: &mut Answer) {
        if item["status"] == "incomplete" {
            return;
        }
        answer.whole_arguments(index, item["arguments"].as_str().unwrap_or_default());
        let own = self.own(item, &["namespace", "caller"]);
        answer.done(index, own);
    }

    /// Members that must go back with the item, and to nobody else.
    fn own(&self, item: &Value, names: &[&str]) -> Option<Value> {
        let present = names.iter().filter(|name| !item[**name].is_null());
        let present: Map<String, Value> =
            present.map(|name| ((*name).to_owned(), item[*name].clone())).collect();
        (!present.is_empty()).then(|| json!({ self.provider.clone(): present }))
    }

    fn delta(&mut self, frame: &Json, answer: &mut Answer, to: fn(&mut Answer, u32, &Json, &str)) {
        if let Some(index) = self.index(frame, answer) {
            to(answer, index, frame, frame.text("delta"));
        }
    }

    /// The hosted item that a frame speaks of.
    fn hosted(&self, frame: &Json, answer: &Answer) -> Option<u32> {
        let index = *self.items.get(&frame.number("output_index")?)?;
        matches!(answer.kind_of(index), Some(ItemKind::Hosted { .. })).then_some(index)
    }

    fn ended(&mut self, response: &Value, answer: &mut Answer) {
        self.whole_output(response, answer);
        answer.members(response, &PLACED);
        let usage = usage(&response["usage"], answer);
        let stop = match response["incomplete_details"]["reason"].as_str() {
            Some("max_output_tokens") => StopReason::MaxTokens,
            Some("content_filter") => StopReason::ContentFilter,
            Some(other) => StopReason::Other(other.to_owned()),
            None if response["status"] == "incomplete" => StopReason::Other("incomplete".to_owned()),
            None if self.refused => StopReason::Refusal,
            None => StopReason::End,
        };
        answer.complete(stop, usage);
    }
}

impl Protocol for Responses {
    fn keep_events(&mut self) {
        self.keeps_events = true;
    }

    /// What ends the answer is given along before its end, everything else behind what it gave.
    fn frame(&mut self, frame: &Json, answer: &mut Answer) {
        let (value, name) = (&frame.value, frame.text("type"));
        let is_event = self.keeps_events && (name == "error" || name.starts_with("response."));
        let is_end =
            matches!(name, "response.completed" | "response.incomplete" | "response.failed" | "error");
        if is_event && is_end {
            answer.original(value);
        }
        // The end of the text before this event is not what this event gave.
        if !matches!(name, "response.completed" | "response.incomplete" | "keepalive") {
            self.write_done(answer);
        }
        let before = answer.event_count();
        self.read(frame, answer);
        if is_event && !is_end && !frame.has_lone_surrogates {
            answer.originated(before, value);
        }
    }
}

impl Responses {
    fn read(&mut self, frame: &Json, answer: &mut Answer) {
        let value = &frame.value;
        let is_word =
            !matches!(frame.text("type"), "response.output_item.added" | "response.output_item.done");
        if let Some(index) = self.hosted(frame, answer).filter(|_| is_word) {
            return answer.frame(index, value, &["output_index", "sequence_number"]);
        }
        match frame.text("type") {
            "response.created" | "response.queued" | "response.in_progress" => {
                let response = &value["response"];
                let text = |name: &str| response[name].as_str().unwrap_or_default();
                answer.started(text("id"), text("model"));
            }
            "response.output_item.added" => self.item_added(frame, answer),
            "response.output_item.done" => self.item_done(frame, answer),
            "response.output_text.delta" => {
                self.delta(frame, answer, |to, index, frame, text| {
                    to.scored(index, text, &frame.value["logprobs"]);
                });
            }
            "response.refusal.delta" => {
                self.refused = true;
                self.delta(frame, answer, |to, index, _, text| to.refusal(index, text));
            }
            "response.reasoning_summary_text.delta" => self.delta(frame, answer, |to, index, frame, text| {
                let part = frame.number("summary_index").and_then(|part| u32::try_from(part).ok());
                to.reasoning(index, Some(part.unwrap_or(0)), text);
            }),
            "response.reasoning_text.delta" => {
                self.delta(frame, answer, |to, index, _, text| to.reasoning(index, None, text));
            }
            "response.function_call_arguments.delta" => {
                self.delta(frame, answer, |to, index, _, text| to.arguments(index, text));
            }
            "response.output_text.annotation.added" => {
                if let Some(index) = self.index(frame, answer) {
                    self.annotate(index, &value["annotation"], answer);
                }
            }
            "response.completed" | "response.incomplete" => self.ended(&value["response"], answer),
            "response.failed" => answer.fail(failure(None, &value["response"])),
            "error" => answer.fail(failure(None, value)),
            "keepalive" => {}
            name if is_repetition(name) => {}
            "" if value["error"].is_object() => answer.fail(failure(None, value)),
            "" => answer.fail(protocol_error("a frame has no `type`")),
            name => answer.vendor(name, value),
        }
    }
}

/// Events that repeat what deltas and `output_item.done` say.
fn is_repetition(name: &str) -> bool {
    name.starts_with("response.content_part.")
        || name.starts_with("response.reasoning_summary_part.")
        || matches!(
            name,
            "response.output_text.done"
                | "response.refusal.done"
                | "response.reasoning_summary_text.done"
                | "response.reasoning_text.done"
                | "response.function_call_arguments.done"
        )
}

fn usage(usage: &Value, answer: &mut Answer) -> Usage {
    let paths = [
        "input_tokens",
        "input_tokens_details/cached_tokens",
        "input_tokens_details/cache_write_tokens",
        "output_tokens",
        "output_tokens_details/reasoning_tokens",
        "total_tokens",
    ];
    let [
        input_tokens,
        cached_input_tokens,
        cache_write_input_tokens,
        output_tokens,
        reasoning_tokens,
        total_tokens,
    ] = answer.counts(usage, paths);
    Usage {
        input_tokens,
        cached_input_tokens,
        cache_write_input_tokens: cache_write_input_tokens.filter(|count| *count > 0),
        output_tokens,
        reasoning_tokens,
        total_tokens,
    }
}
