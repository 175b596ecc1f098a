//! The events of a message stream.

use riverrun_event::Usage;
use serde_json::{Value, json};

use crate::failure::failure;
use crate::stream::{Answer, Json, Protocol, protocol_error};
use crate::{ItemKind, StopReason};

/// The member of an item's opaque value that holds the blocks before it.
pub(super) const BEFORE: &str = "before";

#[derive(Default)]
pub(crate) struct Messages {
    next: u64,
    open: Option<Block>,
    /// Calls that the service closed with arguments that are no JSON, or none: whether they were cut, the stop reason
    /// says.
    doubtful: Vec<u32>,
    /// Blocks of the service's own tools that go back before the next item.
    foreign: Vec<Value>,
    provider: String,
    usage: Value,
    stop: Option<StopReason>,
}

struct Block {
    /// None: a kind of block that has no place here.
    index: Option<u32>,
    /// The block as it opened, with what came since.
    value: Value,
    /// The text of thinking, or the arguments of a block that has no place here.
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
}

impl Messages {
    pub fn new(provider: &str) -> Self {
        Self { provider: provider.to_owned(), ..Self::default() }
    }

    fn block_start(&mut self, frame: &Json, answer: &mut Answer) {
        if self.open.is_some() || frame.number("index") != Some(self.next) {
            let index = &frame.value["index"];
            return answer.fail(protocol_error(format!("block {index} started out of turn")));
        }
        self.next += 1;
        let value = frame.value["content_block"].clone();
        let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
        let kind = match text("type").as_str() {
            "text" => Some(ItemKind::Message),
            "thinking" | "redacted_thinking" => Some(ItemKind::Reasoning),
            "tool_use" => Some(ItemKind::ToolCall { call_id: text("id"), name: text("name") }),
            _ => None,
        };
        let index = kind.map(|kind| answer.open(kind));
        if let Some(index) = index {
            match value["type"].as_str().unwrap_or_default() {
                "text" => answer.text(index, &text("text")),
                "thinking" => answer.reasoning(index, None, &text("thinking")),
                _ => {}
            }
            for citation in value["citations"].as_array().into_iter().flatten() {
                answer.annotate(index, citation);
            }
        }
        self.open = Some(Block { index, value, gathered: String::new() });
    }

    fn block_delta(&mut self, frame: &Json, answer: &mut Answer) {
        let place = frame.number("index");
        let Some(block) = self.open.as_mut().filter(|_| place == self.next.checked_sub(1)) else {
            return answer.fail(protocol_error(format!(
                "a delta came for block {}, which is not open",
                frame.value["index"]
            )));
        };
        let delta = &frame.value["delta"];
        let text = |name: &str| delta[name].as_str().unwrap_or_default();
        let Some(index) = block.index else {
            block.gathered.push_str(text("partial_json"));
            return;
        };
        match text("type") {
            "text_delta" => answer.text(index, text("text")),
            "input_json_delta" => answer.arguments(index, text("partial_json")),
            "thinking_delta" => {
                answer.reasoning(index, None, text("thinking"));
                block.gathered.push_str(text("thinking"));
            }
            "signature_delta" => block.value["signature"] = json!(text("signature")),
            "citations_delta" => answer.annotate(index, &delta["citation"]),
            name => answer.vendor(name, delta),
        }
    }

    fn block_stop(&mut self, frame: &Json, answer: &mut Answer) {
        let place = frame.number("index");
        let Some(block) = self.open.take().filter(|_| place == self.next.checked_sub(1)) else {
            return answer
                .fail(protocol_error(format!("block {} stopped but was not open", frame.value["index"])));
        };
        let Some(index) = block.index else {
            return self.foreign_block(block, answer);
        };
        match answer.kind_of(index) {
            Some(ItemKind::ToolCall { .. }) => self.call_done(index, &block.value["input"], answer),
            Some(ItemKind::Reasoning) => answer.done(index, Some(block.thought())),
            Some(ItemKind::Message) | None => {
                let own = self.own();
                answer.done(index, own);
            }
        }
    }

    fn call_done(&mut self, index: u32, input: &Value, answer: &mut Answer) {
        if answer.arguments_of(index).is_empty() && input.as_object().is_some_and(|input| !input.is_empty()) {
            answer.arguments(index, &input.to_string());
        }
        match serde_json::from_str::<serde::de::IgnoredAny>(answer.arguments_of(index)) {
            Ok(_) => {
                let own = self.own();
                answer.done(index, own);
            }
            Err(_) => self.doubtful.push(index),
        }
    }

    /// What came of the service's own tools since the last item goes back with this one, in its place before it.
    fn own(&mut self) -> Option<Value> {
        let blocks = std::mem::take(&mut self.foreign);
        (!blocks.is_empty()).then(|| json!({ self.provider.as_str(): { BEFORE: blocks } }))
    }

    /// Tools that the service runs itself, and whatever else it has.
    fn foreign_block(&mut self, mut block: Block, answer: &mut Answer) {
        if let Ok(input) = serde_json::from_str::<Value>(&block.gathered) {
            block.value["input"] = input;
        }
        let name = block.value["type"].as_str().unwrap_or("block").to_owned();
        answer.vendor(&name, &block.value);
        self.foreign.push(block.value);
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
