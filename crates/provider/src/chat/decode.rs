//! The chunks of a chat completion.

use std::collections::BTreeMap;

use riverrun_event::{RawJson, Usage};
use serde_json::{Map, Value, json};

use super::calls::Calls;
use super::join::{gather, join, without};
use super::plain::Plain;
use super::think::{Segments, Think};
use crate::failure::failure;
use crate::stream::{Answer, Json, Protocol, protocol_error};
use crate::{Category, ItemKind, ModelError, StopReason};

pub(crate) struct Chunks {
    reasoning: Option<u32>,
    message: Option<u32>,
    calls: Calls,
    /// The message came whole, and not in deltas.
    is_whole: bool,
    /// OpenRouter's reasoning blocks, which must come back as they are.
    details: Vec<Value>,
    /// LiteLLM's, joined: they have the signatures of the model's maker.
    blocks: Vec<Value>,
    /// The service named its thoughts `reasoning_content`, and reads them so.
    is_content: bool,
    think: Think,
    /// Members of the message that have no place here, joined, and the item that tells them.
    beside: Option<(u32, Value)>,
    /// Members of the choice that have none.
    choice: Map<String, Value>,
    refused: bool,
    usage: Usage,
    finish: Option<StopReason>,
    /// Members that were kept of plain chunks.
    known_members: BTreeMap<&'static str, String>,
}

/// By this member of what is opaque the text of the thoughts goes back under the name that it came under.
pub(super) const SENT_AS: &str = "sent_as";

/// Members of a chunk that have a place here, or say nothing to anybody else.
const PLACED: [&str; 6] = ["id", "object", "created", "model", "choices", "obfuscation"];

const PLACED_IN_CHOICE: [&str; 5] = ["index", "delta", "message", "finish_reason", "logprobs"];
const PLACED_IN_DELTA: [&str; 10] = [
    "role",
    "content",
    "refusal",
    "reasoning",
    "reasoning_content",
    "reasoning_details",
    "thinking_blocks",
    "annotations",
    "tool_calls",
    "function_call",
];

impl Chunks {
    pub fn new(seed: &str) -> Self {
        Self {
            reasoning: None,
            message: None,
            calls: Calls::new(seed),
            is_whole: false,
            details: Vec::new(),
            blocks: Vec::new(),
            is_content: false,
            think: Think::Before(String::new()),
            beside: None,
            choice: Map::new(),
            refused: false,
            usage: Usage::default(),
            finish: None,
            known_members: BTreeMap::new(),
        }
    }

    /// What nearly every chunk says again.
    fn message_member(&mut self, name: &'static str, known_members: Option<&str>, answer: &mut Answer) {
        let Some(known_members) = known_members else { return };
        if self.known_members.get(name).is_none_or(|known| known != known_members) {
            self.known_members.insert(name, known_members.to_owned());
            answer.member(name, &json!(known_members));
        }
    }

    fn delta(&mut self, delta: &Value, logprobs: &Value, answer: &mut Answer) {
        let text = |name: &str| delta[name].as_str().filter(|text| !text.is_empty());
        // Two names for the same text; some servers send both.
        let thought = text("reasoning_content").or_else(|| text("reasoning"));
        if let Some(thought) = thought {
            self.held_back(answer);
            self.is_content |= text("reasoning_content").is_some();
            self.thought(thought, answer);
        }
        for block in delta["thinking_blocks"].as_array().into_iter().flatten() {
            self.held_back(answer);
            // The same text stands beside the blocks, or nowhere else.
            let known_members = if thought.is_none() { block["thinking"].as_str() } else { None };
            self.thought(known_members.unwrap_or_default(), answer);
            gather(&mut self.blocks, block);
        }
        self.details.extend(delta["reasoning_details"].as_array().into_iter().flatten().cloned());
        if let Some(refusal) = text("refusal") {
            self.refused = true;
            let index = self.message(answer);
            answer.refusal(index, refusal);
        }
        match &delta["content"] {
            Value::Array(parts) => parts.iter().for_each(|part| self.part(part, answer)),
            Value::String(text) => self.content(text, &logprobs["content"], answer),
            Value::Null => {}
            part => self.part(part, answer),
        }
        for annotation in delta["annotations"].as_array().into_iter().flatten() {
            let index = self.message(answer);
            answer.annotate(index, annotation);
        }
        self.tool_calls(delta, answer);
        self.beside(without(delta, &PLACED_IN_DELTA), answer);
    }

    fn tool_calls(&mut self, delta: &Value, answer: &mut Answer) {
        let calls = delta["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
        // The older way; who sends both says the same by them.
        let older = &delta["function_call"];
        let has_content =
            |name: &str| older[name].as_str().map_or(older[name].is_object(), |text| !text.is_empty());
        let older = (calls.is_empty() && (has_content("name") || has_content("arguments")))
            .then(|| json!({"function": older}));
        for (at, fragment) in calls.iter().chain(&older).enumerate() {
            self.held_back(answer);
            self.end_reasoning(answer);
            self.calls.fragment(at, fragment, answer);
        }
    }

    /// A part of a content that is a list.
    fn part(&mut self, part: &Value, answer: &mut Answer) {
        let is_text = matches!(part["type"].as_str(), Some("text") | None);
        let text = part.as_str().or_else(|| part["text"].as_str().filter(|_| is_text));
        if let Some(text) = text {
            return self.content(text, &Value::Null, answer);
        }
        if part["type"] != "thinking" {
            return self.beside(json!({"content": [part]}), answer);
        }
        self.held_back(answer);
        let pieces = match &part["thinking"] {
            Value::Array(pieces) => pieces.as_slice(),
            piece => std::slice::from_ref(piece),
        };
        for piece in pieces {
            match piece.as_str().or_else(|| piece["text"].as_str()) {
                Some("") => {}
                Some(text) => self.thought(text, answer),
                None => self.beside(json!({"content": [{"type": "thinking", "thinking": [piece]}]}), answer),
            }
        }
    }

    /// A message that stands where its deltas should. Behind deltas it repeats them.
    fn whole(&mut self, message: &Value, logprobs: &Value, answer: &mut Answer) {
        if !answer.has_items() {
            self.is_whole = true;
            return self.delta(message, logprobs, answer);
        }
        let has_content = |name: &str| !is_empty(&message[name]);
        if self.is_whole
            && (has_content("content") || has_content("reasoning_content") || has_content("tool_calls"))
        {
            answer.fail(protocol_error("a choice had more than one message"));
        }
    }

    fn beside(&mut self, news: Value, answer: &mut Answer) {
        if news.is_null() {
            return;
        }
        let (index, whole) = self.beside.get_or_insert_with(|| {
            let begun = RawJson::of(&json!({})).unwrap_or_default();
            (answer.open(ItemKind::Hosted { kind: "message".to_owned(), begun }), json!({}))
        });
        answer.frame(*index, &news, &[]);
        join(whole, &news);
    }

    fn thought(&mut self, text: &str, answer: &mut Answer) {
        let index = *self.reasoning.get_or_insert_with(|| answer.open(ItemKind::Reasoning));
        answer.reasoning(index, None, text);
    }

    fn answer_text(&mut self, text: &str, answer: &mut Answer) {
        let index = self.message(answer);
        answer.text(index, text);
    }

    fn content(&mut self, text: &str, logprobs: &Value, answer: &mut Answer) {
        if text.is_empty() {
            return;
        }
        let segments = self.think.take(text);
        if segments.answer == text {
            let index = self.message(answer);
            return answer.scored(index, text, logprobs);
        }
        self.push_segments(&segments, answer);
    }

    fn push_segments(&mut self, segments: &Segments, answer: &mut Answer) {
        if !segments.thought.is_empty() {
            self.thought(&segments.thought, answer);
        }
        if !segments.answer.is_empty() {
            self.answer_text(&segments.answer, answer);
        }
    }

    fn held_back(&mut self, answer: &mut Answer) {
        let segments = self.think.finish();
        self.push_segments(&segments, answer);
    }

    fn message(&mut self, answer: &mut Answer) -> u32 {
        self.end_reasoning(answer);
        *self.message.get_or_insert_with(|| answer.open(ItemKind::Message))
    }

    /// Reasoning that goes on after the message began is another item.
    fn end_reasoning(&mut self, answer: &mut Answer) {
        if let Some(index) = self.reasoning.take() {
            let opaque = self.opaque();
            answer.done(index, (!opaque.is_empty()).then_some(Value::Object(opaque)));
        }
    }

    /// What the service wants back with these thoughts.
    fn opaque(&mut self) -> Map<String, Value> {
        let lists = [("reasoning_details", &mut self.details), ("thinking_blocks", &mut self.blocks)];
        let mut opaque = Map::new();
        for (name, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
            opaque.insert(name.to_owned(), Value::Array(std::mem::take(list)));
        }
        if std::mem::take(&mut self.is_content) {
            opaque.insert(SENT_AS.to_owned(), json!("reasoning_content"));
        }
        opaque
    }

    fn finish(&mut self, reason: &str, answer: &mut Answer) {
        let stop = match reason {
            "stop" if self.refused => StopReason::Refusal,
            "stop" => StopReason::End,
            "tool_calls" | "function_call" => StopReason::ToolUse,
            "length" => StopReason::MaxTokens,
            "content_filter" => StopReason::ContentFilter,
            other => StopReason::Other(other.to_owned()),
        };
        self.held_back(answer);
        self.end_reasoning(answer);
        if let Some(index) = self.message.take() {
            answer.done(index, None);
        }
        if let Some((index, whole)) = self.beside.take() {
            answer.done(index, Some(whole));
        }
        self.calls.finish(matches!(stop, StopReason::MaxTokens | StopReason::ContentFilter), answer);
        self.finish = Some(stop);
    }

    fn usage(&mut self, usage: &Value, answer: &mut Answer) {
        let paths = [
            "prompt_tokens",
            "prompt_tokens_details/cached_tokens",
            "completion_tokens",
            "completion_tokens_details/reasoning_tokens",
            "total_tokens",
        ];
        let [input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, total_tokens] =
            answer.counts(usage, paths);
        self.usage = Usage {
            input_tokens,
            cached_input_tokens,
            cache_write_input_tokens: None,
            output_tokens,
            reasoning_tokens,
            total_tokens,
        };
    }

    fn complete(&mut self, answer: &mut Answer) {
        if let Some(stop) = self.finish.take() {
            if !self.choice.is_empty() {
                answer.member("choices", &Value::Object(std::mem::take(&mut self.choice)));
            }
            answer.complete(stop, self.usage.clone());
        }
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

impl Protocol for Chunks {
    fn plain_frame(&mut self, data: &str, answer: &mut Answer) -> bool {
        let Some(plain) = Plain::read(data).filter(|_| self.finish.is_none()) else { return false };
        answer.started(&plain.id, &plain.model);
        for (name, known_members) in
            [("system_fingerprint", plain.system_fingerprint), ("service_tier", plain.service_tier)]
        {
            self.message_member(name, known_members, answer);
        }
        let [choice] = &plain.choices;
        match choice.delta.content.as_deref().filter(|text| !text.is_empty()) {
            Some(text) if self.think.is_off() => self.answer_text(text, answer),
            Some(text) => self.content(text, &Value::Null, answer),
            None => {}
        }
        true
    }

    fn frame(&mut self, frame: &Json, answer: &mut Answer) {
        let value = &frame.value;
        if !value["error"].is_null() {
            return answer.fail(failure(None, value));
        }
        answer.started(frame.text("id"), frame.text("model"));
        answer.members(value, &PLACED);
        // Moonshot has it in the choice, Groq in a member of its own.
        let usages = [&value["usage"], &value["choices"][0]["usage"], &value["x_groq"]["usage"]];
        if let Some(usage) = usages.into_iter().find(|usage| usage.is_object()) {
            self.usage(usage, answer);
        }
        let choices = value["choices"].as_array().into_iter().flatten();
        for choice in choices.filter(|choice| choice["index"].as_u64().unwrap_or(0) == 0) {
            if self.finish.is_some() {
                continue;
            }
            match &choice["message"] {
                message @ Value::Object(_) if is_empty(&choice["delta"]) => {
                    self.whole(message, &choice["logprobs"], answer);
                }
                _ => self.delta(&choice["delta"], &choice["logprobs"], answer),
            }
            if let Value::Object(news) = without(choice, &PLACED_IN_CHOICE) {
                self.choice.extend(news);
            }
            if let Some(reason) = choice["finish_reason"].as_str().filter(|reason| !reason.is_empty()) {
                self.finish(reason, answer);
            }
        }
    }

    fn done_mark(&mut self, answer: &mut Answer) {
        self.end(answer);
        if !answer.is_over() {
            answer.fail(ModelError::new(
                Category::Truncated,
                "the service said [DONE] without a finish_reason",
            ));
        }
    }

    /// Not every server says `[DONE]`; the finish reason is the terminal.
    fn end(&mut self, answer: &mut Answer) {
        self.complete(answer);
    }
}
