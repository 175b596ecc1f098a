//! The events of a message stream.

use riverrun_event::{RawJson, Usage};
use serde_json::{Value, json};

use crate::failure::failure;
use crate::stream::{Answer, Json, Protocol, protocol_error};
use crate::{ItemKind, StopReason};

#[derive(Default)]
pub(crate) struct Messages {
    next: u64,
    open: Option<Block>,
    /// Calls that the service closed with arguments that are no JSON, or none: whether they were cut, the stop reason
    /// says.
    doubtful: Vec<u32>,
    usage: Value,
    stop: Option<StopReason>,
}

/// Members of a message that have a place here.
const PLACED: [&str; 8] = ["id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage"];

struct Block {
    index: u32,
    /// The block as it opened, with what came since.
    value: Value,
    /// The text of thinking, or the input of a hosted block.
    gathered: String,
}

impl Block {
    /// The block as it must come back.
    fn thought(self) -> Value {
        let mut value = self.value;
        if !self.gathered.is_empty() {
            let opened_with = value["thinking"].as_str().unwrap_or_default();
            value["thinking"] = json!(format!("{opened_with}{}", self.gathered));
        }
        value
    }

    /// A hosted block as it ended.
    fn whole(self) -> Value {
        let mut value = self.value;
        if let Ok(input) = serde_json::from_str::<Value>(&self.gathered) {
            value["input"] = input;
        }
        value
    }
}

impl Messages {
    fn block_start(&mut self, frame: &Json, answer: &mut Answer) {
        if self.open.is_some() || frame.number("index") != Some(self.next) {
            let index = &frame.value["index"];
            return answer.fail(protocol_error(format!("block {index} started out of turn")));
        }
        self.next += 1;
        let value = frame.value["content_block"].clone();
        let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
        let kind = match text("type").as_str() {
            "text" => ItemKind::Message,
            "thinking" | "redacted_thinking" => ItemKind::Reasoning,
            "tool_use" => ItemKind::ToolCall { call_id: text("id"), name: text("name") },
            kind => {
                ItemKind::Hosted { kind: kind.to_owned(), begun: RawJson::of(&value).unwrap_or_default() }
            }
        };
        let index = answer.open(kind);
        match value["type"].as_str().unwrap_or_default() {
            "text" => {
                answer.text(index, &text("text"));
                for citation in value["citations"].as_array().into_iter().flatten() {
                    answer.annotate(index, citation);
                }
            }
            "thinking" => answer.reasoning(index, None, &text("thinking")),
            _ => {}
        }
        self.open = Some(Block { index, value, gathered: String::new() });
    }

    fn block_delta(&mut self, frame: &Json, answer: &mut Answer) {
        let index = frame.number("index");
        let Some(block) = self.open.as_mut().filter(|_| index == self.next.checked_sub(1)) else {
            return answer.fail(protocol_error(format!(
                "a delta came for block {}, which is not open",
                frame.value["index"]
            )));
        };
        let delta = &frame.value["delta"];
        let text = |name: &str| delta[name].as_str().unwrap_or_default();
        let index = block.index;
        if matches!(answer.kind_of(index), Some(ItemKind::Hosted { .. })) {
            block.gathered.push_str(text("partial_json"));
            return answer.frame(index, &frame.value, &["index"]);
        }
        match text("type") {
            "text_delta" => answer.text(index, text("text")),
            "input_json_delta" => answer.arguments(index, text("partial_json")),
            "thinking_delta" => {
                answer.reasoning(index, None, text("thinking"));
                block.gathered.push_str(text("thinking"));
            }
            "signature_delta" => block.value["signature"] = json!(text("signature")),
            "citations_delta" => answer.annotate(index, &delta["citation"]),
            _ => answer.vendor(frame.text("type"), &frame.value),
        }
    }

    fn block_stop(&mut self, frame: &Json, answer: &mut Answer) {
        let index = frame.number("index");
        let Some(block) = self.open.take().filter(|_| index == self.next.checked_sub(1)) else {
            return answer
                .fail(protocol_error(format!("block {} stopped but was not open", frame.value["index"])));
        };
        let index = block.index;
        match answer.kind_of(index) {
            Some(ItemKind::ToolCall { .. }) => self.call_done(index, &block.value["input"], answer),
            Some(ItemKind::Reasoning) => answer.done(index, Some(block.thought())),
            Some(ItemKind::Hosted { .. }) => answer.done(index, Some(block.whole())),
            Some(ItemKind::Message) | None => answer.done(index, None),
        }
    }

    fn call_done(&mut self, index: u32, input: &Value, answer: &mut Answer) {
        if answer.arguments_of(index).is_empty() && input.as_object().is_some_and(|input| !input.is_empty()) {
            answer.arguments(index, &input.to_string());
        }
        match serde_json::from_str::<serde::de::IgnoredAny>(answer.arguments_of(index)) {
            Ok(_) => answer.done(index, None),
            Err(_) => self.doubtful.push(index),
        }
    }

    /// Counts are running totals: a later one replaces an earlier one.
    fn add_usage(&mut self, usage: &Value) {
        if let (Value::Object(known), Value::Object(news)) = (&mut self.usage, usage) {
            known.extend(
                news.iter().filter(|(_, value)| !value.is_null()).map(|(n, v)| (n.clone(), v.clone())),
            );
        } else if usage.is_object() {
            self.usage = usage.clone();
        }
    }

    fn message_delta(&mut self, frame: &Json, answer: &mut Answer) {
        self.add_usage(&frame.value["usage"]);
        answer.members(&frame.value, &["type", "delta", "usage"]);
        answer.members(&frame.value["delta"], &["stop_reason", "stop_sequence"]);
        let Some(reason) = frame.value["delta"]["stop_reason"].as_str() else { return };
        let stop = match reason {
            "end_turn" => StopReason::End,
            "tool_use" => StopReason::ToolUse,
            "max_tokens" | "model_context_window_exceeded" => StopReason::MaxTokens,
            "stop_sequence" => {
                let which = frame.value["delta"]["stop_sequence"].as_str();
                StopReason::StopSequence(which.map(ToOwned::to_owned))
            }
            "refusal" => StopReason::Refusal,
            other => StopReason::Other(other.to_owned()),
        };
        let cut = matches!(stop, StopReason::MaxTokens | StopReason::Refusal);
        for index in std::mem::take(&mut self.doubtful) {
            if cut {
                continue;
            }
            if answer.arguments_of(index).is_empty() {
                answer.arguments(index, "{}");
            }
            answer.done(index, None);
        }
        self.stop = Some(stop);
    }

    fn message_stop(&mut self, answer: &mut Answer) {
        if self.open.is_some() {
            return answer.fail(protocol_error("the message stopped while a block was open"));
        }
        match self.stop.take() {
            Some(stop) => {
                answer.member("usage", &self.usage);
                let usage = usage(&self.usage, answer);
                answer.complete(stop, usage);
            }
            None => answer.fail(protocol_error("the message stopped without a stop_reason")),
        }
    }
}

impl Protocol for Messages {
    fn frame(&mut self, frame: &Json, answer: &mut Answer) {
        match frame.text("type") {
            "message_start" => {
                let message = &frame.value["message"];
                let text = |name: &str| message[name].as_str().unwrap_or_default();
                answer.started(text("id"), text("model"));
                self.add_usage(&message["usage"]);
                answer.members(message, &PLACED);
            }
            "content_block_start" => self.block_start(frame, answer),
            "content_block_delta" => self.block_delta(frame, answer),
            "content_block_stop" => self.block_stop(frame, answer),
            "message_delta" => self.message_delta(frame, answer),
            "message_stop" => self.message_stop(answer),
            "ping" => {}
            "error" => answer.fail(failure(None, &frame.value)),
            "" => answer.fail(protocol_error("a frame has no `type`")),
            name => answer.vendor(name, &frame.value),
        }
    }
}

/// What was read from or written to the cache is counted apart there, and as input here.
fn usage(usage: &Value, answer: &mut Answer) -> Usage {
    let paths = ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens"];
    let [fresh, read, written, output_tokens] = answer.counts(usage, paths);
    let input_tokens = fresh.map(|fresh| fresh + read.unwrap_or(0) + written.unwrap_or(0));
    Usage {
        input_tokens,
        cached_input_tokens: read,
        cache_write_input_tokens: written.filter(|count| *count > 0),
        output_tokens,
        reasoning_tokens: None,
        total_tokens: input_tokens.zip(output_tokens).map(|(input, output)| input + output),
    }
}
