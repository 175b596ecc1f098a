//! Keeps secret values out of what tools give back: they are found by value and replaced, wherever they stand.
//!
//! Hidden is every secret that the process knows (`riverrun_secret`), not only those of the tool at hand.

use std::sync::{Arc, Mutex, PoisonError};

use riverrun_secret::{Redacting, known, learn, learn_named, learn_referred};
use serde_json::Value;

use crate::{CallProgress, ProgressSink, ToolError, ToolOutput, ValueSource};

/// Of a secret that comes in several messages of progress, fewer bytes than this may be seen.
const SHORTEST_HELD: usize = 6;

/// What a tool was given is known when there is one of these.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scrubber;

impl Scrubber {
    /// Learns variables or headers with their names. A plain value is a secret if its name says so. One that cannot be
    /// read now is not learned: nothing was sent of it either.
    pub fn of<'a>(named: impl IntoIterator<Item = (&'a str, &'a ValueSource)>) -> Self {
        for (name, secret) in named {
            match secret {
                ValueSource::Plain(value) => learn_named(name, value),
                ValueSource::File(_) => secret.read().iter().for_each(|value| learn(value)),
                ValueSource::Env(_) => secret.read().iter().for_each(|value| {
                    learn_named(name, value);
                    learn_referred(value);
                }),
            }
        }
        Self
    }

    pub fn text(self, text: &str) -> String {
        known().text(text).into_owned()
    }

    pub fn bytes(self, bytes: &[u8]) -> Vec<u8> {
        known().bytes(bytes).into_owned()
    }

    pub fn json(self, value: &mut Value) {
        known().json(value);
    }

    pub fn result(self, result: Result<ToolOutput, ToolError>) -> Result<ToolOutput, ToolError> {
        result.map(ToolOutput::redacted).map_err(ToolError::redacted)
    }

    pub fn error(self, error: ToolError) -> ToolError {
        error.redacted()
    }

    pub fn progress(self, sink: ProgressSink) -> ProgressSink {
        redact_progress(sink)
    }

    pub fn stream(self) -> Redacting {
        Redacting::new(known())
    }
}

/// The sink, told nothing that is secret, also if a secret comes in several messages.
pub fn redact_progress(sink: ProgressSink) -> ProgressSink {
    let messages = Mutex::new(Redacting::prompt(known(), SHORTEST_HELD));
    Arc::new(move |progress: CallProgress| {
        let CallProgress { message, fraction, partial, block_index } = progress;
        let message = message.map(|message| {
            let mut messages = messages.lock().unwrap_or_else(PoisonError::into_inner);
            String::from_utf8_lossy(&messages.push(message.as_bytes())).into_owned()
        });
        let output = ToolOutput { content: partial.into_iter().collect(), ..ToolOutput::default() };
        sink(CallProgress { message, fraction, partial: output.redacted().content.pop(), block_index });
    })
}

impl ToolOutput {
    /// Without any secret that the process knows.
    pub fn redacted(mut self) -> Self {
        let known = known();
        for part in self.content.iter_mut().chain(&mut self.block_list) {
            // A part that JSON cannot hold was never read from anything.
            let Ok(mut value) = serde_json::to_value(&*part) else { continue };
            if known.json(&mut value)
                && let Ok(clean) = serde_json::from_value(value)
            {
                *part = clean;
            }
        }
        if let Some(structured) = &mut self.structured {
            known.json(structured);
        }
        self
    }
}

impl ToolError {
    /// Without any secret that the process knows.
    pub fn redacted(self) -> Self {
        Self { message: known().text(&self.message).into_owned(), ..self }
    }
}

#[cfg(test)]
mod tests {
    use riverrun_event::Block;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_secret_is_hidden_in_text_in_json_and_in_errors() {
        ["Bearer sesame-42", "say \"open\"", "short"].iter().for_each(|value| learn(value));
        assert_eq!(Scrubber.text("Bearer sesame-42, sesame-42"), "[secret], [secret]");
        assert_eq!(Scrubber.text("short is too short"), "short is too short");
        let output = ToolOutput {
            structured: Some(json!({"say \"open\"": ["x sesame-42"]})),
            ..ToolOutput::text("{\"said\":\"say \\\"open\\\"\"}")
        };
        let clean = output.redacted();
        assert_eq!(clean.content, [Block::plain("{\"said\":\"[secret]\"}")]);
        assert_eq!(clean.structured, Some(json!({"[secret]": ["x [secret]"]})));
    }

    #[test]
    fn the_lines_of_a_key_are_hidden_and_its_frame_is_not() {
        let key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\n-----END KEY-----";
        learn(key);
        assert_eq!(Scrubber.text("got MIIEvQIBADANBgkqhkiG9w0B"), "got [secret]");
        assert_eq!(Scrubber.text(&format!("a {key} b")), "a [secret] b");
        assert_eq!(Scrubber.text("-----BEGIN KEY-----"), "-----BEGIN KEY-----");
    }

    #[test]
    fn a_plain_value_with_a_secret_name_is_a_secret() {
        let (plain, named) = (ValueSource::from("metric-units"), ValueSource::from("sk-12345678"));
        let scrubber = Scrubber::of([("UNITS", &plain), ("API_KEY", &named)]);
        assert_eq!(scrubber.text("metric-units sk-12345678"), "metric-units [secret]");
    }

    #[test]
    fn a_secret_over_two_messages_of_progress_is_hidden() {
        learn("tr0ub4dor-and-3");
        let seen = Arc::new(Mutex::new(String::new()));
        let sink = redact_progress({
            let seen = seen.clone();
            Arc::new(move |progress: CallProgress| seen.lock().unwrap().push_str(&progress.message.unwrap()))
        });
        for message in ["it is tr0ub4d", "or-and", "-3 indeed"] {
            sink(CallProgress { message: Some(message.to_owned()), ..CallProgress::default() });
        }
        assert_eq!(*seen.lock().unwrap(), "it is [secret] indeed");
    }
}
