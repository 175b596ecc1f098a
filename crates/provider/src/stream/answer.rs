//! The events of one answer, and the promises about them.
//!
//! Items start once and are done once, text goes only to a started item, an unfinished tool call is never done, and
//! exactly one terminal event comes last.

use riverrun_event::{Annotation, Block, RawJson, SentText, Usage};
use serde_json::{Map, Value, json};

use super::json::tokens;
use super::protocol_error;
use super::surrogate::Joiner;
use crate::{Category, ItemKind, ModelError, ModelEvent, StopReason};

#[derive(Default)]
pub(crate) struct Answer {
    events: Vec<ModelEvent>,
    items: Vec<OpenItem>,
    started: bool,
    over: bool,
    has_lone_surrogates: bool,
    has_calls: bool,
    /// What the service says of its answer and has no place here.
    members: Map<String, Value>,
}

/// Members that are larger in all are not worth an event.
const MOST_MEMBERS: usize = 64 << 10;

struct OpenItem {
    kind: ItemKind,
    done: bool,
    joiner: Joiner,
    /// What a tool call's arguments have come to, to compare with what the service says at their end.
    arguments: String,
    /// A message or reasoning has said something.
    has_text: bool,
}

impl OpenItem {
    /// True for arguments that are the beginning of JSON and not the whole of it.
    fn is_unfinished(&self) -> bool {
        let read = || serde_json::from_str::<serde::de::IgnoredAny>(&self.arguments);
        matches!(self.kind, ItemKind::ToolCall { .. })
            && !self.arguments.trim().is_empty()
            && read().is_err_and(|error| error.is_eof())
    }
}

impl Answer {
    pub fn begin_frame(&mut self, has_lone_surrogates: bool) {
        self.has_lone_surrogates = has_lone_surrogates;
    }

    pub fn is_over(&self) -> bool {
        self.over
    }

    pub fn take(&mut self) -> Vec<ModelEvent> {
        std::mem::take(&mut self.events)
    }

    /// Only the first one counts.
    pub fn started(&mut self, response_id: &str, model: &str) {
        let named = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        if !std::mem::replace(&mut self.started, true) {
            self.push(ModelEvent::Started { response_id: named(response_id), model: named(model) });
        }
    }

    pub fn open(&mut self, kind: ItemKind) -> u32 {
        let index = u32::try_from(self.items.len()).unwrap_or(u32::MAX);
        self.push(ModelEvent::ItemStarted { index, kind: kind.clone() });
        let joiner = Joiner::default();
        self.items.push(OpenItem { kind, done: false, joiner, arguments: String::new(), has_text: false });
        index
    }

    pub fn text(&mut self, index: u32, delta: &str) {
        self.delta(index, delta, |index, delta| ModelEvent::Text { index, delta });
    }

    /// Text with the odds of its tokens.
    pub fn scored(&mut self, index: u32, delta: &str, logprobs: &Value) {
        let odds = logprobs.as_array().into_iter().flatten();
        let odds: Vec<RawJson> = odds.filter_map(|one| RawJson::of(one).ok()).collect();
        if odds.is_empty() {
            return self.text(index, delta);
        }
        let first_new = self.events.len();
        self.delta(index, delta, |index, delta| ModelEvent::Scored { index, delta, logprobs: Vec::new() });
        match self.events.get_mut(first_new) {
            Some(ModelEvent::Scored { logprobs, .. }) => *logprobs = odds,
            // Half a character says nothing yet, but it has its odds.
            _ => self.push(ModelEvent::Scored { index, delta: String::new(), logprobs: odds }),
        }
    }

    pub fn refusal(&mut self, index: u32, delta: &str) {
        self.delta(index, delta, |index, delta| ModelEvent::Refusal { index, delta });
    }

    pub fn reasoning(&mut self, index: u32, summary_index: Option<u32>, delta: &str) {
        self.delta(index, delta, |index, delta| ModelEvent::Reasoning { index, summary_index, delta });
    }

    pub fn arguments(&mut self, index: u32, delta: &str) {
        self.delta(index, delta, |index, delta| ModelEvent::Arguments { index, delta });
    }

    /// The service repeats the arguments whole: what did not come as deltas is given on now.
    pub fn whole_arguments(&mut self, index: u32, whole: &str) {
        let Some(remaining) = whole.strip_prefix(self.arguments_of(index)) else {
            return self.fail(protocol_error(format!(
                "the arguments of item {index} at their end differ from the deltas before"
            )));
        };
        let remaining = remaining.to_owned();
        self.arguments(index, &remaining);
    }

    pub fn has_items(&self) -> bool {
        !self.items.is_empty()
    }

    pub fn is_done(&self, index: u32) -> bool {
        self.item(index).is_some_and(|item| item.done)
    }

    pub fn has_text(&self, index: u32) -> bool {
        self.item(index).is_some_and(|item| item.has_text)
    }

    pub fn arguments_of(&self, index: u32) -> &str {
        self.item(index).map_or("", |item| item.arguments.as_str())
    }

    pub fn kind_of(&self, index: u32) -> Option<&ItemKind> {
        self.item(index).map(|item| &item.kind)
    }

    pub fn block(&mut self, index: u32, block: Block) {
        self.push(ModelEvent::Block { index, block });
    }

    pub fn annotate(&mut self, index: u32, annotation: &Value) {
        match serde_json::from_value::<Annotation>(annotation.clone()) {
            Ok(annotation) => self.push(ModelEvent::Annotated { index, annotation }),
            Err(_) => self.vendor("annotation", annotation),
        }
    }

    pub fn done(&mut self, index: u32, opaque: Option<Value>) {
        let Some(item) = self.items.get_mut(index as usize) else { return };
        // Arguments that go on are not done, whatever the service says: the answer's end tells what they are.
        if self.over || item.is_unfinished() || std::mem::replace(&mut item.done, true) {
            return;
        }
        if item.joiner.end() {
            let lost = char::REPLACEMENT_CHARACTER.to_string();
            let event = match item.kind {
                ItemKind::Message | ItemKind::Hosted { .. } => ModelEvent::Text { index, delta: lost },
                ItemKind::Reasoning => ModelEvent::Reasoning { index, summary_index: None, delta: lost },
                ItemKind::ToolCall { .. } => ModelEvent::Arguments { index, delta: lost },
            };
            self.push(event);
            self.repaired(index, 1);
        }
        self.has_calls |= matches!(self.items[index as usize].kind, ItemKind::ToolCall { .. });
        let opaque = opaque.and_then(|value| RawJson::of(&value).ok());
        self.push(ModelEvent::ItemDone { index, opaque });
    }

    /// Keeps a member of the answer; a later one replaces an earlier one, and null says nothing.
    pub fn member(&mut self, name: &str, value: &Value) {
        if !value.is_null() {
            self.members.insert(name.to_owned(), value.clone());
        }
    }

    /// Keeps the members of an object but for those that have a place.
    pub fn members(&mut self, object: &Value, placed: &[&str]) {
        let members = object.as_object().into_iter().flatten();
        members
            .filter(|(name, _)| !placed.contains(&name.as_str()))
            .for_each(|(name, value)| self.member(name, value));
    }

    /// A word about a hosted item, without the members that number it in the stream.
    pub fn frame(&mut self, index: u32, frame: &Value, numbers: &[&str]) {
        let mut frame = frame.clone();
        if let Some(members) = frame.as_object_mut() {
            numbers.iter().for_each(|name| drop(members.remove(*name)));
        }
        if let Ok(frame) = RawJson::of(&frame) {
            self.push(ModelEvent::Frame { index, frame });
        }
    }

    /// The service's event itself.
    pub fn original(&mut self, event: &Value) {
        self.push(ModelEvent::Original(event.clone()));
    }

    /// How many events there are.
    pub fn event_count(&self) -> usize {
        self.events.len()
    }

    /// The service's event behind what it gave since there were `before` events: with its text if it gave just that.
    pub fn originated(&mut self, before: usize, event: &Value) {
        fn is_text(event: &ModelEvent) -> bool {
            event.text().is_some()
        }
        match &mut self.events[before..] {
            [only] if only.text().is_some() && only.text() == event["delta"].as_str() => {
                let mut members = event.as_object().cloned().unwrap_or_default();
                let bytes = members.remove("delta").and_then(|delta| Some(delta.as_str()?.len()));
                let events = vec![SentText { bytes: bytes.unwrap_or_default(), members }];
                let text = std::mem::replace(only, ModelEvent::Original(Value::Null));
                *only = ModelEvent::Sent { text: Box::new(text), events };
            }
            // Text that differs from the service's stands for its event.
            others if others.iter().any(is_text) && event["delta"].is_string() => {}
            others => {
                for other in others.iter_mut().filter(|other| is_text(other)) {
                    let text = std::mem::replace(other, ModelEvent::Original(Value::Null));
                    *other = ModelEvent::Sent { text: Box::new(text), events: Vec::new() };
                }
                self.original(event);
            }
        }
    }

    pub fn vendor(&mut self, name: &str, data: &Value) {
        if let Ok(data) = RawJson::of(data) {
            self.push(ModelEvent::Vendor { name: name.to_owned(), data });
        }
    }

    /// A tool call that the service finished makes `End` a `ToolUse`. One that it did not finish makes this a failure,
    /// unless the service says itself that the answer was cut.
    pub fn complete(&mut self, stop: StopReason, usage: Usage) {
        let cut = match stop {
            StopReason::MaxTokens | StopReason::ContentFilter | StopReason::Refusal => true,
            StopReason::End | StopReason::ToolUse | StopReason::StopSequence(_) | StopReason::Other(_) => {
                false
            }
        };
        for index in 0..self.items.len() {
            let item = &self.items[index];
            match &item.kind {
                _ if item.done => {}
                ItemKind::Message | ItemKind::Reasoning | ItemKind::Hosted { .. } => {
                    self.done(index as u32, None);
                }
                ItemKind::ToolCall { .. } if cut => {}
                ItemKind::ToolCall { name, .. } => {
                    let message =
                        format!("the service completed with the arguments of a call of `{name}` unfinished");
                    let error = ModelError::new(Category::Truncated, message);
                    return self.fail(ModelError { fault: Some("unfinished_arguments"), ..error });
                }
            }
        }
        let stop = match stop {
            StopReason::End if self.has_calls => StopReason::ToolUse,
            other => other,
        };
        let members = std::mem::take(&mut self.members);
        let members = (!members.is_empty()).then(|| RawJson::of(&members).ok()).flatten();
        let members = members.filter(|members| members.get().len() <= MOST_MEMBERS);
        self.push(ModelEvent::Completed { stop, usage, members });
        self.over = true;
    }

    /// Nothing follows; says nothing if the terminal event was already there.
    pub fn fail(&mut self, error: ModelError) {
        self.push(ModelEvent::Failed(error));
        self.over = true;
    }

    /// Counts of tokens by path (`a/b`) in the service's usage object; what is no count is left out and told.
    pub fn counts<const N: usize>(&mut self, usage: &Value, paths: [&str; N]) -> [Option<u64>; N] {
        let mut wrong = Map::new();
        let counts = paths.map(|path| {
            let value = path.split('/').fold(usage, |value, name| &value[name]);
            tokens(value).unwrap_or_else(|()| {
                wrong.insert(path.to_owned(), value.clone());
                None
            })
        });
        if !wrong.is_empty() {
            let message = "the service counted tokens with what is no count; it is left out";
            self.warn("usage_ignored", message, &Value::Object(wrong));
        }
        counts
    }

    fn delta(&mut self, index: u32, delta: &str, event: impl Fn(u32, String) -> ModelEvent) {
        let has_lone_surrogates = self.has_lone_surrogates;
        let Some(item) = self.items.get_mut(index as usize).filter(|item| !item.done) else {
            return self.fail(protocol_error(format!("text came for item {index}, which is not open")));
        };
        let (text, lost) = item.joiner.join(delta, has_lone_surrogates);
        if text.is_empty() {
            return;
        }
        item.has_text = true;
        if matches!(item.kind, ItemKind::ToolCall { .. }) {
            item.arguments.push_str(&text);
        }
        self.push(event(index, text));
        if lost > 0 {
            self.repaired(index, lost);
        }
    }

    fn repaired(&mut self, index: u32, count: usize) {
        let message = "the service sent half of a character without its other half; U+FFFD stands for it";
        self.warn("text_repaired", message, &json!({"index": index, "count": count}));
    }

    fn warn(&mut self, code: &'static str, message: &'static str, detail: &Value) {
        let detail = RawJson::of(detail).unwrap_or_default();
        self.push(ModelEvent::Warning { code, message, detail });
    }

    fn item(&self, index: u32) -> Option<&OpenItem> {
        self.items.get(index as usize)
    }

    fn push(&mut self, event: ModelEvent) {
        if !self.over {
            self.events.push(event);
        }
    }
}
