//! Keeps secret values out of what tools give back: they are found by value and replaced, wherever they stand.
//!
//! Found is what stands there as it was given, also inside JSON. What a tool encodes, splits or shortens is not.

use std::sync::Arc;

use serde_json::Value;

use crate::{Progress, ProgressSink, Secret, ToolError, ToolOutput};

/// Shorter values are not looked for: they would be found everywhere.
const SHORTEST: usize = 6;
/// A line of a longer value, such as of a key in PEM, is looked for by itself from this length on.
const SHORTEST_LINE: usize = 16;
const HIDDEN: &str = "[secret]";

/// The values that must not be seen.
#[derive(Clone, Default)]
pub(crate) struct Scrubber {
    /// The longest first, so that none is cut by another that it holds.
    values: Arc<Vec<String>>,
}

impl Scrubber {
    /// Of variables or headers with their names. A plain value is a secret if its name says so. One that cannot be
    /// read now is not looked for: nothing was sent of it either.
    pub fn of<'a>(named: impl IntoIterator<Item = (&'a str, &'a Secret)>) -> Self {
        let secret = |(name, secret): (&str, &Secret)| match secret {
            Secret::Plain(value) => names_a_secret(name).then(|| value.clone()),
            Secret::Env(_) | Secret::File(_) => secret.read().ok(),
        };
        Self::new(named.into_iter().filter_map(secret))
    }

    pub fn new(values: impl IntoIterator<Item = String>) -> Self {
        let mut all: Vec<String> = values.into_iter().flat_map(|value| forms(&value)).collect();
        all.sort_unstable_by(|one, other| other.len().cmp(&one.len()).then(one.cmp(other)));
        all.dedup();
        Self { values: Arc::new(all) }
    }

    /// With the values of the other too: those that a server was started with, and those of today.
    pub fn and(&self, other: &Self) -> Self {
        Self::new(self.values.iter().chain(other.values.iter()).cloned())
    }

    pub fn text(&self, text: &str) -> String {
        self.values.iter().fold(text.to_owned(), |text, value| match text.contains(value.as_str()) {
            true => text.replace(value.as_str(), HIDDEN),
            false => text,
        })
    }

    pub fn bytes(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = self.stream();
        let mut clean = stream.push(bytes);
        clean.extend(stream.end());
        clean
    }

    pub fn json(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(list) => list.iter_mut().for_each(|value| self.json(value)),
            Value::Object(members) => {
                let has_secret =
                    |name: &String| self.values.iter().any(|value| name.contains(value.as_str()));
                if members.keys().any(has_secret) {
                    let all = std::mem::take(members);
                    *members = all.into_iter().map(|(name, value)| (self.text(&name), value)).collect();
                }
                members.values_mut().for_each(|value| self.json(value));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    pub fn output(&self, output: ToolOutput) -> ToolOutput {
        if self.values.is_empty() {
            return output;
        }
        let mut output = output;
        for part in output.content.iter_mut().chain(&mut output.block_list) {
            // A part that JSON cannot hold was never read from anything.
            let Ok(mut value) = serde_json::to_value(&*part) else { continue };
            let before = value.clone();
            self.json(&mut value);
            if value != before
                && let Ok(clean) = serde_json::from_value(value)
            {
                *part = clean;
            }
        }
        if let Some(structured) = &mut output.structured {
            self.json(structured);
        }
        output
    }

    pub fn error(&self, error: ToolError) -> ToolError {
        ToolError { message: self.text(&error.message), ..error }
    }

    pub fn result(&self, result: Result<ToolOutput, ToolError>) -> Result<ToolOutput, ToolError> {
        result.map(|output| self.output(output)).map_err(|error| self.error(error))
    }

    /// The sink, told nothing that is secret.
    pub fn progress(&self, sink: ProgressSink) -> ProgressSink {
        if self.values.is_empty() {
            return sink;
        }
        let scrubber = self.clone();
        Arc::new(move |told: Progress| {
            let Progress { message, fraction, partial, block_index } = told;
            let message = message.map(|message| scrubber.text(&message));
            let output = ToolOutput { content: partial.into_iter().collect(), ..ToolOutput::default() };
            let partial = scrubber.output(output).content.pop();
            sink(Progress { message, fraction, partial, block_index });
        })
    }

    pub fn stream(&self) -> Scrubbing {
        Scrubbing { scrubber: self.clone(), held: Vec::new() }
    }
}

/// Bytes that come in pieces: what may be the beginning of a secret waits for what follows it.
pub(crate) struct Scrubbing {
    scrubber: Scrubber,
    held: Vec<u8>,
}

impl Scrubbing {
    /// What may be shown now.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        if self.scrubber.values.is_empty() {
            return bytes.to_vec();
        }
        self.held.extend_from_slice(bytes);
        let mut clean = Vec::with_capacity(self.held.len());
        let mut at = 0;
        while at < self.held.len() {
            let rest = &self.held[at..];
            let mut values = self.scrubber.values.iter().map(String::as_bytes);
            // A longer value that may still come wins over a shorter one that is there.
            let found = values.find(|value| rest.starts_with(value) || value.starts_with(rest));
            match found {
                Some(value) if value.len() <= rest.len() => {
                    clean.extend_from_slice(HIDDEN.as_bytes());
                    at += value.len();
                }
                Some(_) => break,
                None => {
                    clean.push(rest[0]);
                    at += 1;
                }
            }
        }
        self.held.drain(..at);
        clean
    }

    /// Nothing follows: a secret that was begun and not ended may hold a shorter one.
    pub fn end(&mut self) -> Vec<u8> {
        let held = std::mem::take(&mut self.held);
        let longest = self.scrubber.values.iter().filter(|value| value.len() <= held.len());
        let shorter = Scrubber { values: Arc::new(longest.cloned().collect()) };
        if shorter.values.is_empty() {
            return held;
        }
        let mut again = Scrubbing { scrubber: shorter, held: Vec::new() };
        let mut clean = again.push(&held);
        clean.extend(again.end());
        clean
    }
}

/// The value as it is, as it stands in a JSON string, and what of it may stand alone: behind the word of an
/// `Authorization` header, or a line.
fn forms(value: &str) -> Vec<String> {
    let mut forms = vec![value.to_owned()];
    if let Some(("Bearer" | "Basic" | "Token" | "token" | "bearer", rest)) = value.split_once(' ') {
        forms.push(rest.trim().to_owned());
    }
    let lines = value.lines().filter(|line| *line != value && !line.starts_with("-----"));
    forms.extend(lines.filter(|line| line.len() >= SHORTEST_LINE).map(ToOwned::to_owned));
    let in_json = |value: &String| {
        let quoted = Value::from(value.as_str()).to_string();
        quoted[1..quoted.len() - 1].to_owned()
    };
    forms.extend(forms.iter().map(in_json).collect::<Vec<_>>());
    forms.retain(|form| form.len() >= SHORTEST);
    forms
}

/// True for the name of a variable or a header that usually holds a secret.
pub(crate) fn names_a_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["key", "token", "secret", "passw", "credential", "auth", "cookie"].iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use riverrun_event::Block;
    use serde_json::json;

    use super::*;

    fn scrubber(values: &[&str]) -> Scrubber {
        Scrubber::new(values.iter().map(|value| (*value).to_owned()))
    }

    #[test]
    fn a_secret_is_hidden_in_text_in_json_and_in_errors() {
        let scrubber = scrubber(&["Bearer sesame-42", "say \"open\"", "short"]);
        assert_eq!(scrubber.text("Bearer sesame-42, sesame-42"), "[secret], [secret]");
        assert_eq!(scrubber.text("short is too short"), "short is too short");
        let output = ToolOutput {
            structured: Some(json!({"say \"open\"": ["x sesame-42"]})),
            ..ToolOutput::text("{\"said\":\"say \\\"open\\\"\"}")
        };
        let clean = scrubber.output(output);
        assert_eq!(clean.content, [Block::plain("{\"said\":\"[secret]\"}")]);
        assert_eq!(clean.structured, Some(json!({"[secret]": ["x [secret]"]})));
    }

    #[test]
    fn wherever_a_stream_is_cut_it_is_clean() {
        let scrubber = scrubber(&["abcabcabd", "abcabc"]);
        let text = b"xabcabcabcabdyabcabcz abcab";
        let whole = "x[secret]abcabdy[secret]z abcab";
        for first in 0..text.len() {
            for second in first..text.len() {
                let mut stream = scrubber.stream();
                let mut clean = stream.push(&text[..first]);
                clean.extend(stream.push(&text[first..second]));
                clean.extend(stream.push(&text[second..]));
                clean.extend(stream.end());
                assert_eq!(String::from_utf8_lossy(&clean), whole, "{first} {second}");
            }
        }
    }

    #[test]
    fn the_lines_of_a_key_are_hidden_and_its_frame_is_not() {
        let key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\n-----END KEY-----";
        let scrubber = scrubber(&[key]);
        assert_eq!(scrubber.text("got MIIEvQIBADANBgkqhkiG9w0B"), "got [secret]");
        assert_eq!(scrubber.text(&format!("a {key} b")), "a [secret] b");
        assert_eq!(scrubber.text("-----BEGIN KEY-----"), "-----BEGIN KEY-----");
    }

    #[test]
    fn a_plain_value_is_a_secret_if_its_name_says_so() {
        let (plain, named) = (Secret::from("metric-units"), Secret::from("sk-12345678"));
        let scrubber = Scrubber::of([("UNITS", &plain), ("API_KEY", &named)]);
        assert_eq!(scrubber.text("metric-units sk-12345678"), "metric-units [secret]");
    }
}
