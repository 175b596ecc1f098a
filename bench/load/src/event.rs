//! The events that the generator appends: turns of one message, with deltas of about 197 bytes.

use std::fmt::Write;

/// Size of one delta event, in bytes, without the line end.
pub const SIZE: usize = 197;
/// Hexadecimal digits of a stamp.
const STAMP: usize = 16;
/// What stands before a stamp in a rendered event.
const MARK: &[u8] = b"\"delta\":\"@";

const WORDS: [&str; 32] = [
    "river", "of", "the", "bank", "turns", "and", "a", "boat", "under", "stone", "bridge", "goes", "where",
    "water", "light", "falls", "to", "every", "morning", "with", "its", "slow", "answer", "past", "city",
    "mill", "in", "rain", "because", "nobody", "asked", "it",
];

/// The ids of one turn. A task's id is unique over sessions, so all of them carry the session's.
#[derive(Clone, Debug)]
pub struct TurnIds {
    turn: String,
    task: String,
    item: String,
}

impl TurnIds {
    pub fn new(session: &str, number: u64) -> Self {
        let id = |kind: &str| format!("{kind}-{session}-{number}");
        Self { turn: id("u"), task: id("k"), item: id("m") }
    }

    /// The events that open the turn and its message, one per line.
    pub fn opening(&self) -> String {
        let Self { item, .. } = self;
        let submitted = self.event("turn.submitted", r#"{"input":"Tell me about the river."}"#);
        let started = self.event("turn.started", "{}");
        let message = format!(
            r#"{{"item":{{"type":"message","id":"{item}","role":"assistant","status":"in_progress"}},"outputIndex":0}}"#
        );
        format!("{submitted}\n{started}\n{}\n", self.event("item.started", &message))
    }

    /// The events that close the message and the turn, one per line.
    pub fn closing(&self) -> String {
        let Self { item, .. } = self;
        let message =
            format!(r#"{{"item":{{"type":"message","id":"{item}","status":"completed"}},"outputIndex":0}}"#);
        let completed = self.event("item.completed", &message);
        format!("{completed}\n{}\n", self.event("turn.completed", "{}"))
    }

    /// Delta number `number` of the turn; its text differs from that of the others.
    pub fn delta(&self, number: u64) -> String {
        self.render(&prose(number, SIZE.saturating_sub(self.render("").len()).max(8)))
    }

    /// A delta with room for a stamp in its text.
    pub fn stamped_delta(&self, number: u64) -> String {
        let room = SIZE.saturating_sub(self.render("").len()).max(STAMP + 2);
        self.render(&format!("@{:0STAMP$x}{}", 0, prose(number, room - STAMP - 1)))
    }

    /// `count` deltas from `number` on, one per line.
    pub fn deltas(&self, number: u64, count: u64) -> String {
        let mut lines = String::with_capacity((SIZE + 1) * count as usize);
        for number in number..number + count {
            lines.push_str(&self.delta(number));
            lines.push('\n');
        }
        lines
    }

    fn render(&self, text: &str) -> String {
        let Self { item, .. } = self;
        let payload = format!(r#"{{"delta":"{text}","itemId":"{item}","outputIndex":0,"blockIndex":0}}"#);
        self.event("model.delta", &payload)
    }

    fn event(&self, kind: &str, payload: &str) -> String {
        let Self { turn, task, .. } = self;
        format!(r#"{{"type":"{kind}","turnId":"{turn}","taskId":"{task}","payload":{payload}}}"#)
    }
}

/// Writes `nanoseconds` over the stamp in a rendered request.
pub fn stamp(request: &mut [u8], nanoseconds: u64) {
    let Some(at) = memchr::memmem::find(request, MARK) else { return };
    let digits = format!("{nanoseconds:0STAMP$x}");
    request[at + MARK.len()..][..STAMP].copy_from_slice(digits.as_bytes());
}

/// The stamp of an event that came back.
pub fn stamp_of(frame: &[u8]) -> Option<u64> {
    let at = memchr::memmem::find(frame, MARK)? + MARK.len();
    let digits = std::str::from_utf8(frame.get(at..at + STAMP)?).ok()?;
    u64::from_str_radix(digits, 16).ok()
}

/// `length` characters that compress like prose, not like a constant.
fn prose(seed: u64, length: usize) -> String {
    let mut state = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut text = String::with_capacity(length + 16);
    while text.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let word = WORDS[(state >> 32) as usize % WORDS.len()];
        write!(text, " {word}").expect("a String takes every character");
    }
    text.truncate(length);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delta_has_the_stated_size() {
        assert_eq!(TurnIds::new("b1a2b3c4-17", 1).delta(5).len(), SIZE);
        assert_eq!(TurnIds::new("b1a2b3c4-17", 1).stamped_delta(5).len(), SIZE);
    }

    #[test]
    fn a_stamp_comes_back() {
        let mut event = TurnIds::new("s", 1).stamped_delta(9).into_bytes();
        stamp(&mut event, 123_456_789);
        assert_eq!(stamp_of(&event), Some(123_456_789));
    }

    #[test]
    fn every_event_is_one_json_object_per_line() {
        let turn = TurnIds::new("s", 1);
        let lines = turn.opening() + &turn.deltas(1, 3) + &turn.closing();
        let types: Vec<String> = lines
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("an event is JSON"))
            .map(|event| event["type"].as_str().expect("an event has a type").to_owned())
            .collect();
        let deltas = ["model.delta"; 3];
        let expected = [
            &["turn.submitted", "turn.started", "item.started"][..],
            &deltas,
            &["item.completed", "turn.completed"],
        ];
        assert_eq!(types, expected.concat());
    }
}
