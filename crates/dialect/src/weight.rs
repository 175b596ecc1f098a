//! How much the beginning of a stream amounts to: a failure before any speech can still be a refusal.

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
    /// What one of the first frames of a stream amounts to. `name` is what stands in its `event:` line.
    pub fn weigh(self, name: &str, json: &str) -> Weight {
        match (self, name) {
            (Dialect::Responses, "response.created" | "response.queued" | "response.in_progress")
            | (Dialect::Anthropic, "message_start" | "ping") => Weight::Opening,
            (Dialect::Responses, "response.failed") | (Dialect::Anthropic, "error") => Weight::Failure,
            (Dialect::Chat, _) => weigh_chunk(json),
            (Dialect::Gemini, _) if is_error(json) => Weight::Failure,
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
    let speaks = |(name, value): (&String, &Value)| name != "role" && value != "";
    match chunk.choices.as_slice() {
        _ if chunk.error.is_some() => Weight::Failure,
        [only] if only.delta.contains_key("role") && !only.delta.iter().any(speaks) => Weight::Opening,
        _ => Weight::Speech,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openings_speech_and_failures_are_distinguished() {
        let check = |dialect: Dialect, name: &str, json: &str, weight| {
            assert_eq!(dialect.weigh(name, json), weight, "{name} {json}");
        };
        let role = r#"{"choices":[{"delta":{"content":"","role":"assistant"}}]}"#;
        check(Dialect::Chat, "", role, Weight::Opening);
        check(Dialect::Chat, "", &role.replace("\"\"", "\"hi\""), Weight::Speech);
        check(Dialect::Chat, "", "[DONE]", Weight::Speech);
        check(Dialect::Chat, "", r#"{"error":{}}"#, Weight::Failure);
        check(Dialect::Chat, "", r#"{"id":1}"#, Weight::Speech);
        check(Dialect::Responses, "response.created", "{}", Weight::Opening);
        check(Dialect::Responses, "response.failed", "{}", Weight::Failure);
        check(Dialect::Anthropic, "message_start", "{}", Weight::Opening);
        check(Dialect::Anthropic, "ping", "{}", Weight::Opening);
        check(Dialect::Anthropic, "content_block_start", "{}", Weight::Speech);
        check(Dialect::Anthropic, "error", "{}", Weight::Failure);
        check(Dialect::Gemini, "", r#"{"error":{"code":429}}"#, Weight::Failure);
        check(Dialect::Gemini, "", r#"{"candidates":[]}"#, Weight::Speech);
    }
}
