//! The events of a model service's own stream, recorded without what the log has already.
//!
//! A service repeats itself: a text comes in deltas, then whole in the end of its part, of its item and of the
//! response. The log holds each event as the difference from what [`ServiceStream`] expects next. The recorder and
//! every reader run the same `ServiceStream` over the same log, so a reader gets exactly the service's JSON values.
//!
//! ```text
//!   service   created  in_progress  …added  delta  delta  …done  …done  completed
//!   log       model.raw model.raw   model.raw  model.delta ×2  model.raw ×3 (nothing but the numbers that differ)
//! ```

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::{ModelRaw, RawJson};

mod expect;
mod patch;
#[cfg(test)]
mod tests;

/// A record longer than this goes into several events, so that none of its strings has to leave the log.
const PIECE: usize = 32 << 10;

/// Which event of the log carries a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Growth {
    /// `model.delta`
    Text,
    /// `reasoning.delta` of a summary part
    Summary,
    /// `reasoning.delta` of the reasoning itself
    Reasoning,
    /// `tool.args`
    Arguments,
}

impl Growth {
    fn usual_type(self) -> &'static str {
        match self {
            Growth::Text => "response.output_text.delta",
            Growth::Summary => "response.reasoning_summary_text.delta",
            Growth::Reasoning => "response.reasoning_text.delta",
            Growth::Arguments => "response.function_call_arguments.delta",
        }
    }
}

/// An event of the service that carried text: its members but for `delta`, and the bytes of `delta`.
#[derive(Debug, Clone, PartialEq)]
pub struct SentText {
    /// The bytes of `delta`.
    pub bytes: usize,
    /// The members of the event but for `delta`.
    pub members: Map<String, Value>,
}

/// What is known of a service's stream up to an event. It predicts the next one.
#[derive(Debug, Clone, Default)]
pub struct ServiceStream {
    has_begun: bool,
    number: Option<u64>,
    /// `item_id`, `output_index` and the like of the last event that had them.
    position: Map<String, Value>,
    response: Value,
    /// The last event of each type.
    known: BTreeMap<String, Value>,
    items: BTreeMap<u64, Value>,
    /// Parts by list (`content`, `summary`), item and index.
    parts: BTreeMap<(&'static str, u64, u64), Value>,
    /// Texts by type without `.delta`, item and index.
    texts: BTreeMap<(String, u64, u64), String>,
    /// The type of the last delta of each kind.
    types: BTreeMap<Growth, String>,
    /// Text of the log that no event of the service has carried yet.
    held: String,
    /// The beginning of a record that is in several events.
    pieces: String,
}

impl ServiceStream {
    /// The payloads of the `model.raw` events that record `event`.
    pub fn record(&mut self, event: &Value) -> Vec<ModelRaw> {
        let name = event["type"].as_str().unwrap_or_default();
        let fresh = (!self.has_begun).then_some(true);
        let expected = self.expect(name);
        let (mut set, mut drop) = (Map::new(), Vec::new());
        patch::difference(&expected, event, &mut String::new(), &mut set, &mut drop);
        self.accept(event);
        let set = (!set.is_empty()).then(|| RawJson::of(&set).ok()).flatten();
        let drop = (!drop.is_empty()).then_some(drop);
        let whole = ModelRaw { name: Some(name.to_owned()), set, drop, fresh, ..ModelRaw::default() };
        in_pieces(whole)
    }

    /// The service's event that this payload completes. None if there is none, or what comes before is not known.
    pub fn read(&mut self, raw: &ModelRaw) -> Option<Value> {
        let joined;
        let raw = match &raw.part {
            None => raw,
            Some(part) => {
                self.pieces.push_str(part);
                if raw.more == Some(true) {
                    return None;
                }
                joined = serde_json::from_str(&std::mem::take(&mut self.pieces)).ok()?;
                &joined
            }
        };
        if raw.fresh == Some(true) {
            *self = Self::default();
        } else if !self.has_begun {
            return None;
        }
        let mut event = self.expect(raw.name.as_deref().unwrap_or_default());
        let set: Map<String, Value> = raw.set.as_ref().and_then(|set| set.to().ok()).unwrap_or_default();
        patch::apply(&mut event, set, raw.drop.as_deref().unwrap_or_default());
        self.accept(&event);
        Some(event)
    }

    /// True once an event of the service is known.
    pub fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// The member `sent` of the event that carries `text`. None if one event of the service carried it, as expected.
    /// `events` are those that ended in this text; None if that is not known.
    pub fn record_text(
        &mut self,
        growth: Growth,
        text: &str,
        events: Option<Vec<SentText>>,
    ) -> Option<Vec<RawJson>> {
        let total: usize = events.iter().flatten().map(|event| event.bytes).sum();
        let whole = self.claim(text, total);
        let (Some(events), Some(whole)) = (events, whole) else {
            self.held.clear();
            self.grow(growth, text, Map::new());
            return None;
        };
        if events.is_empty() {
            return Some(Vec::new());
        }
        let (mut sent, mut from, count) = (Vec::new(), 0, events.len());
        for (index, event) in events.into_iter().enumerate() {
            let Some(delta) = whole.get(from..from + event.bytes) else { break };
            from += event.bytes;
            let mut change = self.change(growth, &event.members);
            self.grow(growth, delta, change.clone());
            let has_length = index + 1 < count || total != text.len();
            match change.is_empty() && has_length {
                true => sent.push(json!(event.bytes)),
                false => {
                    if has_length {
                        change.insert(LENGTH.to_owned(), json!(event.bytes));
                    }
                    sent.push(Value::Object(change));
                }
            }
        }
        let is_plain = matches!(sent.as_slice(), [Value::Object(only)] if only.is_empty());
        (!is_plain).then(|| sent.iter().filter_map(|one| RawJson::of(one).ok()).collect())
    }

    /// The service's events that carried this text of the log.
    pub fn read_text(&mut self, growth: Growth, text: &str, sent: Option<&[RawJson]>) -> Vec<Value> {
        let Some(sent) = sent else {
            self.held.clear();
            return vec![self.grow(growth, text, Map::new())];
        };
        let mut changes: Vec<(Option<usize>, Map<String, Value>)> = sent.iter().map(change_of).collect();
        let is_measured = changes.iter().all(|(length, _)| length.is_some());
        let total = match is_measured {
            true => changes.iter().filter_map(|(length, _)| *length).sum(),
            false => text.len(),
        };
        let Some(whole) = self.claim(text, total) else {
            return vec![self.grow(growth, text, Map::new())];
        };
        let mut remaining = whole.as_str();
        let mut events = Vec::with_capacity(changes.len());
        for (length, change) in changes.drain(..) {
            let (delta, after) =
                remaining.split_at_checked(length.unwrap_or(remaining.len())).unwrap_or((remaining, ""));
            remaining = after;
            events.push(self.grow(growth, delta, change));
        }
        events
    }

    /// The last `bytes` of what no event has carried and this text. What is left is not carried by any event; with no
    /// bytes it waits for the next text.
    fn claim(&mut self, text: &str, bytes: usize) -> Option<String> {
        if bytes == 0 {
            self.held.push_str(text);
            return Some(String::new());
        }
        let held = std::mem::take(&mut self.held) + text;
        held.get(held.len().checked_sub(bytes)?..).map(ToOwned::to_owned)
    }

    /// How an event differs from the expected delta; `delta` itself aside.
    fn change(&self, growth: Growth, members: &Map<String, Value>) -> Map<String, Value> {
        let mut change = Map::new();
        let usual = self.usual_type(growth);
        let name = members.get("type").and_then(Value::as_str).unwrap_or_default();
        if name != usual {
            change.insert("type".to_owned(), json!(name));
        }
        let expected = self.expect_delta(name);
        let differs = |(name, value): &(&String, &Value)| expected.get(*name) != Some(*value);
        change.extend(members.iter().filter(differs).map(|(name, value)| (name.clone(), value.clone())));
        let gone = |name: &&String| !members.contains_key(*name) && *name != "delta";
        let dropped: Vec<&String> = expected.keys().filter(gone).collect();
        if !dropped.is_empty() {
            change.insert(DROPPED.to_owned(), json!(dropped));
        }
        change
    }

    /// The delta that carries `text`, changed so.
    fn grow(&mut self, growth: Growth, text: &str, mut change: Map<String, Value>) -> Value {
        let named = change.get("type").and_then(Value::as_str);
        let name = named.unwrap_or(self.usual_type(growth)).to_owned();
        let mut event = self.expect_delta(&name);
        for dropped in change.remove(DROPPED).iter().filter_map(Value::as_array).flatten() {
            event.remove(dropped.as_str().unwrap_or_default());
        }
        event.extend(change);
        event.insert("delta".to_owned(), json!(text));
        self.types.insert(growth, name);
        let event = Value::Object(event);
        self.accept(&event);
        event
    }

    fn usual_type(&self, growth: Growth) -> &str {
        self.types.get(&growth).map_or(growth.usual_type(), String::as_str)
    }
}

const LENGTH: &str = "$bytes";
const DROPPED: &str = "$drop";

/// The bytes of an event's text, if it says how many, and what differs.
fn change_of(sent: &RawJson) -> (Option<usize>, Map<String, Value>) {
    let mut change = match sent.to::<Value>() {
        Ok(Value::Object(change)) => change,
        Ok(length) => Map::from_iter([(LENGTH.to_owned(), length)]),
        Err(_) => Map::new(),
    };
    let length = change.remove(LENGTH).and_then(|length| usize::try_from(length.as_u64()?).ok());
    (length, change)
}

fn in_pieces(whole: ModelRaw) -> Vec<ModelRaw> {
    let is_long = whole.set.as_ref().is_some_and(|set| set.get().len() > PIECE);
    let Some(text) = is_long.then(|| serde_json::to_string(&whole).ok()).flatten() else {
        return vec![whole];
    };
    let (mut pieces, mut remaining) = (Vec::new(), text.as_str());
    while !remaining.is_empty() {
        let (part, after) = remaining.split_at(remaining.floor_char_boundary(PIECE));
        remaining = after;
        let more = (!after.is_empty()).then_some(true);
        pieces.push(ModelRaw { part: Some(part.to_owned()), more, ..ModelRaw::default() });
    }
    pieces
}
