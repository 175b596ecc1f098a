//! How much the beginning of a stream says: a failure before the first word can still be a refusal.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::Dialect;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// Only that an answer is to come.
    Opening,
    /// Something of the answer.
    Speech,
    /// The answer failed before it said anything.
    Failure,
}

impl Dialect {
    /// What these whole frames, the first of a stream, say together.
    pub fn weigh(self, frames: &str) -> Weight {
        let weights = frames.split_terminator("\n\n").map(|frame| self.weigh_frame(frame));
        weights.into_iter().find(|weight| *weight != Weight::Opening).unwrap_or(Weight::Opening)
    }

    fn weigh_frame(self, frame: &str) -> Weight {
        let field = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name));
        let Some(data) = field("data: ") else { return Weight::Opening };
        let name = field("event: ").unwrap_or_default();
        match (self, name) {
            (Dialect::Responses, "response.created" | "response.queued" | "response.in_progress")
            | (Dialect::Anthropic, "message_start" | "ping") => Weight::Opening,
            (Dialect::Responses, "response.failed") | (Dialect::Anthropic, "error") => Weight::Failure,
            (Dialect::Chat, _) => weigh_chunk(data),
            (Dialect::Gemini, _) if is_error(data) => Weight::Failure,
            _ => Weight::Speech,
        }
    }
}

/// Chunks have no names: what they hold says what they are.
#[derive(Deserialize)]
struct Chunk {
    error: Option<IgnoredAny>,
    #[serde(default)]
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    delta: BTreeMap<String, Value>,
}

fn is_error(data: &str) -> bool {
    serde_json::from_str::<Chunk>(data).is_ok_and(|chunk| chunk.error.is_some())
}

/// The first chunk of a completion says who speaks, and nothing yet.
fn weigh_chunk(data: &str) -> Weight {
    let Ok(chunk) = serde_json::from_str::<Chunk>(data) else { return Weight::Speech };
    let says = |(name, value): (&String, &Value)| name != "role" && value != "";
    match chunk.choices.as_slice() {
        _ if chunk.error.is_some() => Weight::Failure,
        [only] if only.delta.contains_key("role") && !only.delta.iter().any(says) => Weight::Opening,
        _ => Weight::Speech,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openings_are_told_from_words_and_failures() {
        let check =
            |dialect: Dialect, frames: &str, weight| assert_eq!(dialect.weigh(frames), weight, "{frames}");
        let role = "data: {\"choices\":[{\"delta\":{\"content\":\"\",\"role\":\"assistant\"}}]}\n\n";
        check(Dialect::Chat, role, Weight::Opening);
        let spoken = role.replace("\"\"", "\"hi\"");
        check(Dialect::Chat, &spoken, Weight::Speech);
        check(Dialect::Chat, "data: [DONE]\n\n", Weight::Speech);
        check(Dialect::Chat, &format!("{role}data: {{\"error\":{{}}}}\n\n"), Weight::Failure);
        check(Dialect::Chat, &format!("{role}data: {{\"id\":1}}\n\n"), Weight::Speech);
        check(Dialect::Responses, "event: response.created\ndata: {}\n\n: ka\n\n", Weight::Opening);
        check(Dialect::Responses, "event: response.failed\ndata: {}\n\n", Weight::Failure);
        check(
            Dialect::Anthropic,
            "event: message_start\ndata: {}\n\nevent: ping\ndata: {}\n\n",
            Weight::Opening,
        );
        check(Dialect::Gemini, "data: {\"error\":{\"code\":429}}\n\n", Weight::Failure);
        check(Dialect::Gemini, "data: {\"candidates\":[]}\n\n", Weight::Speech);
        check(
            Dialect::Anthropic,
            "event: content_block_start\ndata: {}\n\nevent: error\ndata: {}\n\n",
            Weight::Speech,
        );
    }
}
