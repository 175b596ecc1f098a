//! What producers send. Every event is a function of its key, so that the log alone shows whether it is whole.

use serde_json::{Value, json};

use super::random::Random;

/// Words of one to four bytes a letter, with what JSON must escape and what line formats might trip over.
const WORDS: &[&str] =
    &["plain", "né", "\"quoted\"", "漢字", "tab\t", "😀🏽", "a\\b", "line\nend", "\u{2028}", "ß"];

/// Names an event: whose it is, which request of it, which place in the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    pub producer: u32,
    pub request: u32,
    pub place: u32,
}

impl Key {
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.strip_prefix("k-")?.split('-').map(|part| part.parse().ok());
        let key = Self { producer: parts.next()??, request: parts.next()??, place: parts.next()?? };
        parts.next().is_none().then_some(key)
    }

    fn text(self) -> String {
        format!("k-{}-{}-{}", self.producer, self.request, self.place)
    }

    /// The key that an event of the log carries.
    pub fn of(event: &Value) -> Option<Self> {
        Self::parse(event["runId"].as_str()?)
    }
}

/// The places of one request: a small turn, told from its beginning to its end.
pub const TURN: u32 = 6;

/// The event of a key, as a producer sends it.
pub fn event(key: Key) -> Value {
    let turn = format!("t-{}-{}", key.producer, key.request);
    let item = format!("m-{turn}");
    let text = text(key);
    let message = json!({"type": "message", "id": item, "role": "assistant"});
    let (kind, payload) = match key.place % TURN {
        0 => ("turn.submitted", json!({"input": text})),
        1 => ("task.created", json!({"title": text})),
        2 => ("item.started", json!({"item": message, "outputIndex": 0})),
        3 => ("model.delta", json!({"delta": text, "itemId": item, "outputIndex": 0})),
        4 => ("item.completed", json!({"item": message, "outputIndex": 0})),
        _ => ("turn.completed", json!({"finalOutput": text})),
    };
    json!({"type": kind, "turnId": turn, "taskId": turn, "runId": key.text(), "payload": payload})
}

/// An event of a type that is not ours, for requests that send one at a time.
pub fn note(key: Key) -> Value {
    json!({"type": "x.note", "runId": key.text(), "payload": {"text": text(key)}})
}

/// What the log must hold for a key: its type and payload.
pub fn is_sound(key: Key, stored: &Value) -> bool {
    let as_sent = [event(key), note(key)];
    as_sent.iter().any(|sent| sent["type"] == stored["type"] && sent["payload"] == stored["payload"])
}

fn text(key: Key) -> String {
    let seed = (u64::from(key.producer) << 40) ^ (u64::from(key.request) << 8) ^ u64::from(key.place);
    let mut random = Random::new(seed);
    let count = 2 + random.below(12);
    let words = (0..count).map(|_| WORDS[random.below(WORDS.len() as u64) as usize]);
    format!("{} {}", key.text(), words.collect::<Vec<_>>().join(" "))
}
