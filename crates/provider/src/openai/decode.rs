//! The named events of a response stream.

use std::collections::BTreeMap;

use riverrun_event::Usage;
use serde_json::{Map, Value, json};

use crate::failure::failure;
use crate::stream::{Answer, Json, Protocol, protocol_error};
use crate::{ItemKind, StopReason};

pub(crate) struct Responses {
    provider: String,
    /// The service's output index → ours. None: an item of a kind that has no place here.
    items: BTreeMap<u64, Option<u32>>,
    refused: bool,
}

impl Responses {
    pub fn new(provider: &str) -> Self {
        Self { provider: provider.to_owned(), items: BTreeMap::new(), refused: false }
    }

    fn item_added(&mut self, frame: &Json, answer: &mut Answer) {
        let Some(place) = frame.number("output_index") else {
            return answer.fail(protocol_error("an item was added without an output_index"));
        };
        let item = &frame.value["item"];
        let text = |name: &str| item[name].as_str().unwrap_or_default().to_owned();
        let kind = match item["type"].as_str().unwrap_or_default() {
            "message" => Some(ItemKind::Message),
            "reasoning" => Some(ItemKind::Reasoning),
            "function_call" => Some(ItemKind::ToolCall { call_id: text("call_id"), name: text("name") }),
            _ => None,
        };
        if self.items.contains_key(&place) {
            return answer.fail(protocol_error(format!("two items were added at output_index {place}")));
        }
        if let Some(ItemKind::ToolCall { call_id, name }) = &kind
            && (call_id.is_empty() || name.is_empty())
        {
            return answer.fail(protocol_error("a function call came without its call_id or name"));
        }
        self.items.insert(place, kind.map(|kind| answer.open(kind)));
    }

    /// Our index of the item that a frame speaks of; a frame of an item that was never added ends the answer.
    fn index(&self, frame: &Json, answer: &mut Answer) -> Option<u32> {
        match frame.number("output_index").and_then(|place| self.items.get(&place)) {
            Some(index) => *index,
            None => {
                let name = frame.text("type");
                answer.fail(protocol_error(format!("`{name}` came for an item that was not added")));
                None
            }
        }
    }

    fn item_done(&mut self, frame: &Json, answer: &mut Answer) {
        let item = &frame.value["item"];
        let Some(index) = self.index(frame, answer) else {
            return answer.vendor(item["type"].as_str().unwrap_or("item"), item);
        };
        match answer.kind_of(index) {
            Some(ItemKind::ToolCall { .. }) => self.call_done(index, item, answer),
            Some(ItemKind::Reasoning) => answer.done(index, Some(item.clone())),
            Some(ItemKind::Message) => {
                let whole: String = parts(item).filter_map(|part| part["text"].as_str()).collect();
                answer.whole_text(index, &whole);
                let own = self.own(item, &["phase"]);
                answer.done(index, own);
            }
            None => {}
        }
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
        let kept = names.iter().filter(|name| !item[**name].is_null());
        let kept: Map<String, Value> = kept.map(|name| ((*name).to_owned(), item[*name].clone())).collect();
        (!kept.is_empty()).then(|| json!({ self.provider.clone(): kept }))
    }

    fn delta(&mut self, frame: &Json, answer: &mut Answer, to: fn(&mut Answer, u32, &Json, &str)) {
        if let Some(index) = self.index(frame, answer) {
            to(answer, index, frame, frame.text("delta"));
        }
    }

    fn ended(&mut self, response: &Value, answer: &mut Answer) {
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
    fn frame(&mut self, frame: &Json, answer: &mut Answer) {
        let value = &frame.value;
        match frame.text("type") {
            "response.created" | "response.queued" | "response.in_progress" => {
                let response = &value["response"];
                let text = |name: &str| response[name].as_str().unwrap_or_default();
                answer.started(text("id"), text("model"));
            }
            "response.output_item.added" => self.item_added(frame, answer),
            "response.output_item.done" => self.item_done(frame, answer),
            "response.output_text.delta" => {
                self.delta(frame, answer, |to, index, _, text| to.text(index, text))
            }
            "response.refusal.delta" => {
                self.refused = true;
                self.delta(frame, answer, |to, index, _, text| to.text(index, text));
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
            "response.output_text.annotation.added" => self.delta(frame, answer, |to, index, frame, _| {
                to.annotate(index, &frame.value["annotation"]);
            }),
            "response.completed" | "response.incomplete" => self.ended(&value["response"], answer),
            "response.failed" => answer.fail(failure(None, &value["response"])),
            "error" => answer.fail(failure(None, value)),
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

fn parts(item: &Value) -> impl Iterator<Item = &Value> {
    item["content"].as_array().into_iter().flatten()
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
