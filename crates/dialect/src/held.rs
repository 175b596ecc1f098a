//! How much the beginning of a stream says: a failure before the first word can still be a refusal.

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
        let (openings, failure): (&[&str], &str) = match self {
            Dialect::Responses => (
                &["event: response.created\n", "event: response.queued\n", "event: response.in_progress\n"],
                "event: response.failed\n",
            ),
            Dialect::Anthropic => (&["event: message_start\n", "event: ping\n"], "event: error\n"),
            Dialect::Chat if frame.contains(ROLE) => return Weight::Opening,
            Dialect::Chat | Dialect::Gemini => (&[], "data: {\"error\":"),
            _ => return Weight::Speech,
        };
        let begins = |word: &str| frame.starts_with(word);
        match frame {
            _ if frame.starts_with(':') || openings.iter().any(|word| begins(word)) => Weight::Opening,
            _ if begins(failure) => Weight::Failure,
            _ => Weight::Speech,
        }
    }
}

/// The delta of the first chunk of a completion.
const ROLE: &str = "\"delta\":{\"role\":\"assistant\",\"content\":\"\"}";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openings_are_told_from_words_and_failures() {
        let check =
            |dialect: Dialect, frames: &str, weight| assert_eq!(dialect.weigh(frames), weight, "{frames}");
        let role = format!("data: {{\"choices\":[{{{ROLE}}}]}}\n\n");
        check(Dialect::Chat, &role, Weight::Opening);
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
