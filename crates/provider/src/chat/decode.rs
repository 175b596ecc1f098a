//! The chunks of a chat completion.

use std::collections::BTreeMap;

use riverrun_event::{RawJson, Usage};
use serde_json::{Map, Value, json};

use super::plain::Plain;
use super::think::{Think, Told};
use crate::failure::failure;
use crate::stream::{Answer, Json, Protocol, protocol_error};
use crate::{Category, ItemKind, ModelError, StopReason};

pub(crate) struct Chunks {
    seed: String,
    reasoning: Option<u32>,
    message: Option<u32>,
    calls: Vec<Call>,
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
    said: BTreeMap<&'static str, String>,
}

/// A call whose fragments are still coming. It is an item as soon as its name is known.
struct Call {
    place: u64,
    id: String,
    name: String,
    /// Arguments that came before the name.
    waiting: String,
    /// A call that is no function's, joined.
    other: Option<Value>,
    index: Option<u32>,
}

/// By this member of what is opaque the text of the thoughts goes back under the name that it came under.
pub(super) const SENT_AS: &str = "sent_as";

/// Members of a chunk that have a place here, or say nothing to anybody else.
const PLACED: [&str; 6] = ["id", "object", "created", "model", "choices", "obfuscation"];

const PLACED_IN_CHOICE: [&str; 5] = ["index", "delta", "message", "finish_reason", "logprobs"];
const PLACED_IN_DELTA: [&str; 9] = [
    "role",
    "content",
    "refusal",
    "reasoning",
    "reasoning_content",
    "reasoning_details",
    "thinking_blocks",
    "annotations",
    "tool_calls",
];

impl Chunks {
    pub fn new(seed: &str) -> Self {
        Self {
            seed: seed.to_owned(),
            reasoning: None,
            message: None,
            calls: Vec::new(),
            details: Vec::new(),
            blocks: Vec::new(),
            is_content: false,
            think: Think::Before(String::new()),
            beside: None,
            choice: Map::new(),
            refused: false,
            usage: Usage::default(),
            finish: None,
            said: BTreeMap::new(),
        }
    }

    /// What nearly every chunk says again.
    fn said_of_all(&mut self, name: &'static str, said: Option<&str>, answer: &mut Answer) {
        let Some(said) = said else { return };
        if self.said.get(name).is_none_or(|known| known != said) {
            self.said.insert(name, said.to_owned());
            answer.member(name, &json!(said));
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
            let said = if thought.is_none() { block["thinking"].as_str() } else { None };
            self.thought(said.unwrap_or_default(), answer);
            gather(&mut self.blocks, block);
        }
        self.details.extend(delta["reasoning_details"].as_array().into_iter().flatten().cloned());
        if let Some(refusal) = text("refusal") {
            self.refused = true;
            let index = self.message(answer);
            answer.refusal(index, refusal);
        }
        if let Some(content) = text("content") {
            self.content(content, &logprobs["content"], answer);
        }
        for annotation in delta["annotations"].as_array().into_iter().flatten() {
            let index = self.message(answer);
            answer.annotate(index, annotation);
        }
        for (at, fragment) in delta["tool_calls"].as_array().into_iter().flatten().enumerate() {
            self.held_back(answer);
            self.end_reasoning(answer);
            self.fragment(at as u64, fragment, answer);
        }
        self.beside(without(delta, &PLACED_IN_DELTA), answer);
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

    fn say(&mut self, text: &str, answer: &mut Answer) {
        let index = self.message(answer);
        answer.text(index, text);
    }

    fn content(&mut self, text: &str, logprobs: &Value, answer: &mut Answer) {
        let told = self.think.take(text);
        if told.said == text {
            let index = self.message(answer);
            return answer.scored(index, text, logprobs);
        }
        self.told(&told, answer);
    }

    fn told(&mut self, told: &Told, answer: &mut Answer) {
        if !told.thought.is_empty() {
            self.thought(&told.thought, answer);
        }
        if !told.said.is_empty() {
            self.say(&told.said, answer);
        }
    }

    fn held_back(&mut self, answer: &mut Answer) {
        let told = self.think.rest();
        self.told(&told, answer);
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

    fn fragment(&mut self, at: u64, fragment: &Value, answer: &mut Answer) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (id, name) = (text(&fragment["id"]), text(&fragment["function"]["name"]));
        let place = fragment["index"].as_u64();
        let number = self.call_at(place, at, &id);
        let call = &mut self.calls[number];
        // A function is one whatever a server calls its type.
        let is_other = fragment["type"].as_str().is_some_and(|kind| !matches!(kind, "function" | ""))
            && fragment["function"].is_null();
        if call.other.is_some() || (is_other && call.index.is_none()) {
            return call.other_fragment(id, fragment, answer);
        }
        if call.id.is_empty() {
            call.id = id;
        }
        if call.name.is_empty() {
            call.name = name;
        }
        let arguments = match &fragment["function"]["arguments"] {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            // Some servers send the object itself.
            other => other.to_string(),
        };
        call.waiting.push_str(&arguments);
        if call.name.is_empty() {
            return;
        }
        if call.id.is_empty() {
            call.id = format!("call_{}_{number}", self.seed);
        }
        let kind = ItemKind::ToolCall { call_id: call.id.clone(), name: call.name.clone() };
        let index = *call.index.get_or_insert_with(|| answer.open(kind));
        answer.arguments(index, &std::mem::take(&mut call.waiting));
    }

    /// The call that a fragment belongs to. Servers that know no index start a call with its id; some number every
    /// call 0, and only the id tells them apart.
    fn call_at(&mut self, place: Option<u64>, at: u64, id: &str) -> usize {
        let is_same = |call: &Call| id.is_empty() || call.id.is_empty() || call.id == id;
        let found = match place {
            Some(place) => self.calls.iter().rposition(|call| call.place == place && is_same(call)),
            None if id.is_empty() => self.calls.len().checked_sub(1),
            None => self.calls.iter().position(|call| call.id == id),
        };
        found.unwrap_or_else(|| {
            let place = place.unwrap_or(self.calls.len() as u64 + at);
            self.calls.push(Call {
                place,
                id: String::new(),
                name: String::new(),
                waiting: String::new(),
                other: None,
                index: None,
            });
            self.calls.len() - 1
        })
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
        if self.calls.iter().any(|call| call.index.is_none()) {
            return answer.fail(protocol_error("a tool call came without the name of its tool"));
        }
        // A cut answer ends inside its last call; those before it are whole.
        let cut = matches!(stop, StopReason::MaxTokens | StopReason::ContentFilter);
        let whole = self.calls.len().saturating_sub(usize::from(cut));
        for call in self.calls.iter_mut() {
            if let (Some(index), Some(other)) = (call.index, call.other.take()) {
                answer.done(index, Some(other));
                call.index = None;
            }
        }
        if let Some((index, whole)) = self.beside.take() {
            answer.done(index, Some(whole));
        }
        for index in self.calls[..whole].iter().filter_map(|call| call.index) {
            if answer.arguments_of(index).is_empty() {
                answer.arguments(index, "{}");
            }
            answer.done(index, None);
        }
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

impl Call {
    /// Calls that are no function's are told in the service's own words.
    fn other_fragment(&mut self, id: String, fragment: &Value, answer: &mut Answer) {
        if self.id.is_empty() {
            self.id = id;
        }
        let news = without(fragment, &["index"]);
        match (&mut self.other, self.index) {
            (Some(whole), Some(index)) => {
                answer.frame(index, &news, &[]);
                join(whole, &news);
            }
            _ => {
                let kind = fragment["type"].as_str().unwrap_or_default().to_owned();
                let begun = RawJson::of(&news).unwrap_or_default();
                self.index = Some(answer.open(ItemKind::Hosted { kind, begun }));
                self.other = Some(news);
            }
        }
    }
}

/// Adds a piece to the thinking block that it belongs to: one that has its signature is whole.
fn gather(blocks: &mut Vec<Value>, piece: &Value) {
    let is_open = |block: &&mut Value| {
        block["type"] == piece["type"] && block["signature"].as_str().is_none_or(str::is_empty)
    };
    match blocks.last_mut().filter(is_open).filter(|block| block["thinking"].is_string()) {
        Some(block) => join(block, &without(piece, &["type"])),
        None => blocks.push(without(piece, &[])),
    }
}

/// The members of an object but for these, and for those that say nothing; null if none is left.
fn without(object: &Value, names: &[&str]) -> Value {
    let is_left = |(name, value): &(&String, &Value)| !names.contains(&name.as_str()) && !value.is_null();
    let left: Map<String, Value> = object
        .as_object()
        .into_iter()
        .flatten()
        .filter(is_left)
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if left.is_empty() { Value::Null } else { Value::Object(left) }
}

/// Adds what a chunk says to what was said: texts and lists grow, names and numbers are replaced.
fn join(whole: &mut Value, news: &Value) {
    match (whole, news) {
        (Value::Object(whole), Value::Object(news)) => {
            for (name, value) in news {
                match whole.get_mut(name) {
                    Some(known) if !matches!(name.as_str(), "id" | "type" | "name") => join(known, value),
                    _ => drop(whole.insert(name.clone(), value.clone())),
                }
            }
        }
        (Value::String(whole), Value::String(news)) => whole.push_str(news),
        (Value::Array(whole), Value::Array(news)) => {
            for value in news {
                let place = value["index"].as_u64();
                let same = |known: &&mut Value| place.is_some() && known["index"].as_u64() == place;
                match whole.iter_mut().find(same) {
                    Some(known) => join(known, value),
                    None => whole.push(value.clone()),
                }
            }
        }
        (_, Value::Null) => {}
        (whole, news) => *whole = news.clone(),
    }
}

impl Protocol for Chunks {
    fn plain_frame(&mut self, data: &str, answer: &mut Answer) -> bool {
        let Some(plain) = Plain::read(data).filter(|_| self.finish.is_none()) else { return false };
        answer.started(&plain.id, &plain.model);
        for (name, said) in
            [("system_fingerprint", plain.system_fingerprint), ("service_tier", plain.service_tier)]
        {
            self.said_of_all(name, said, answer);
        }
        let [choice] = &plain.choices;
        match choice.delta.content.as_deref().filter(|text| !text.is_empty()) {
            Some(text) if self.think.is_off() => self.say(text, answer),
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
        if value["usage"].is_object() {
            self.usage(&value["usage"], answer);
        }
        let choices = value["choices"].as_array().into_iter().flatten();
        for choice in choices.filter(|choice| choice["index"].as_u64().unwrap_or(0) == 0) {
            if self.finish.is_some() {
                continue;
            }
            self.delta(&choice["delta"], &choice["logprobs"], answer);
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
