//! The calls of an answer, put together from their fragments.
//!
//! Servers tell calls apart by index, by id, or only by beginning with the name of the next one.

use riverrun_event::RawJson;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::join::{join, without};
use crate::ItemKind;
use crate::stream::{Answer, protocol_error};

pub(super) struct Calls {
    seed: String,
    calls: Vec<Call>,
}

/// A call whose fragments are still coming. It is an item as soon as its name is known.
#[derive(Default)]
struct Call {
    position: u64,
    /// As it came: none, or one that another call has too.
    id: String,
    name: String,
    /// Arguments that came before the name.
    waiting: String,
    /// A call that is no function's, joined.
    other: Option<Value>,
    index: Option<u32>,
}

/// What a fragment says.
struct Fragment<'a> {
    /// Its index, if it has one.
    position: Option<u64>,
    /// How many stand before it in its chunk.
    at: usize,
    id: &'a str,
    name: &'a str,
    arguments: String,
}

impl<'a> Fragment<'a> {
    fn read(at: usize, fragment: &'a Value) -> Self {
        let function = &fragment["function"];
        let arguments = match &function["arguments"] {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            // Some servers send the object itself.
            other => other.to_string(),
        };
        let text = |value: &'a Value| value.as_str().unwrap_or_default();
        let (id, name) = (text(&fragment["id"]), text(&function["name"]));
        Self { position: fragment["index"].as_u64(), at, id, name, arguments }
    }

    /// True if this begins another call than the one that it would go on with. Some servers repeat the name in every
    /// fragment, and end with one that says nothing else.
    fn begins_another(&self, call: &Call, answer: &Answer) -> bool {
        if self.name.is_empty() || call.name.is_empty() {
            return false;
        }
        let is_named = self.position.is_some() && !self.id.is_empty() && self.id == call.id;
        let is_in_chunk = self.position.is_none() && self.id.is_empty() && self.at > 0;
        let arguments_so_far = call.index.map_or("", |index| answer.arguments_of(index));
        let has_news = !self.arguments.trim().is_empty() || self.name != call.name;
        !is_named && (is_in_chunk || (has_news && is_whole(arguments_so_far)))
    }
}

/// True for arguments that nothing can follow.
fn is_whole(arguments: &str) -> bool {
    let arguments = arguments.trim();
    let is_object = arguments.starts_with('{') && arguments.ends_with('}');
    is_object && serde_json::from_str::<IgnoredAny>(arguments).is_ok()
}

impl Calls {
    pub fn new(seed: &str) -> Self {
        Self { seed: seed.to_owned(), calls: Vec::new() }
    }

    pub fn fragment(&mut self, at: usize, value: &Value, answer: &mut Answer) {
        let fragment = Fragment::read(at, value);
        let number = self.call_at(&fragment, answer);
        let call = &mut self.calls[number];
        // A function is one whatever a server calls its type.
        let is_other = value["type"].as_str().is_some_and(|kind| !matches!(kind, "function" | ""))
            && value["function"].is_null();
        if call.other.is_some() || (is_other && call.index.is_none()) {
            return call.other_fragment(fragment.id, value, answer);
        }
        call.named(fragment.id);
        if call.name.is_empty() {
            fragment.name.clone_into(&mut call.name);
        }
        call.waiting.push_str(&fragment.arguments);
        if call.name.is_empty() {
            return;
        }
        let index = match call.index {
            Some(index) => index,
            None => self.open(number, answer),
        };
        answer.arguments(index, &std::mem::take(&mut self.calls[number].waiting));
    }

    fn open(&mut self, number: usize, answer: &mut Answer) -> u32 {
        let Call { id, name, .. } = &self.calls[number];
        let is_own = !id.is_empty() && self.calls[..number].iter().all(|call| call.id != *id);
        let call_id = if is_own { id.clone() } else { format!("call_{}_{number}", self.seed) };
        let index = answer.open(ItemKind::ToolCall { call_id, name: name.clone() });
        self.calls[number].index = Some(index);
        index
    }

    /// The call that a fragment belongs to. Servers that know no index start a call with its id; some number every
    /// call 0, and only the id tells them apart, or the name.
    fn call_at(&mut self, fragment: &Fragment<'_>, answer: &Answer) -> usize {
        let Fragment { position, at, id, .. } = *fragment;
        let is_same = |call: &Call| id.is_empty() || call.id.is_empty() || call.id == id;
        let found = match position {
            Some(position) => self.calls.iter().rposition(|call| call.position == position && is_same(call)),
            None if id.is_empty() => self.calls.len().checked_sub(1),
            None => self.calls.iter().rposition(|call| call.id == id),
        };
        let found = found.filter(|number| !fragment.begins_another(&self.calls[*number], answer));
        found.unwrap_or_else(|| {
            let position = position.unwrap_or((self.calls.len() + at) as u64);
            self.calls.push(Call { position, ..Call::default() });
            self.calls.len() - 1
        })
    }

    /// Ends them all but, where the answer was cut, the last one: those before it are whole.
    pub fn finish(&mut self, is_cut: bool, answer: &mut Answer) {
        if self.calls.iter().any(|call| call.index.is_none()) {
            return answer.fail(protocol_error("a tool call came without the name of its tool"));
        }
        let whole = self.calls.len().saturating_sub(usize::from(is_cut));
        for call in self.calls.iter_mut() {
            if let (Some(index), Some(other)) = (call.index, call.other.take()) {
                answer.done(index, Some(other));
                call.index = None;
            }
        }
        for index in self.calls[..whole].iter().filter_map(|call| call.index) {
            if answer.arguments_of(index).is_empty() {
                answer.arguments(index, "{}");
            }
            answer.done(index, None);
        }
    }
}

impl Call {
    fn named(&mut self, id: &str) {
        if self.id.is_empty() {
            id.clone_into(&mut self.id);
        }
    }

    /// Calls that are no function's are told in the service's own words.
    fn other_fragment(&mut self, id: &str, fragment: &Value, answer: &mut Answer) {
        self.named(id);
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
