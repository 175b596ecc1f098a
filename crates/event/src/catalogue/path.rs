//! Says where in a payload something is wrong.

use serde::de::DeserializeOwned;

/// A payload that does not have the form of its type: `payload.outputIndex: invalid type: string "x", expected u32`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {expected}")]
pub struct PayloadError {
    /// Where, from the envelope: `payload.item.content[0].text`.
    pub path: String,
    /// What was found and what was expected.
    pub expected: String,
}

impl PayloadError {
    /// Reads the text again, this time with the path. Only failures pay for it.
    pub(crate) fn explain<T: DeserializeOwned>(text: &str, error: serde_json::Error) -> Self {
        let (path, expected) = locate::<T>(text, error);
        let path = if path.is_empty() { "payload".to_owned() } else { format!("payload.{path}") };
        Self { path, expected }
    }
}

/// Separates the path from the message while an error passes through an enclosing value.
const MARK: char = '\u{1}';

/// An error inside a value that was read from its raw text, with the path that leads to it.
pub(crate) fn nested_error<T: DeserializeOwned, E: serde::de::Error>(
    text: &str,
    error: serde_json::Error,
) -> E {
    let (path, message) = locate::<T>(text, error);
    E::custom(format_args!("{MARK}{path}{MARK}{message}"))
}

fn locate<T: DeserializeOwned>(text: &str, error: serde_json::Error) -> (String, String) {
    let mut reader = serde_json::Deserializer::from_str(text);
    let (outer, message) = match serde_path_to_error::deserialize::<_, T>(&mut reader) {
        Ok(_) => (String::new(), error.to_string()),
        Err(error) => (path_text(error.path()), error.inner().to_string()),
    };
    // Line and column count from the start of the payload, which the sender never saw.
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(text, _)| text);
    match message.strip_prefix(MARK).and_then(|rest| rest.split_once(MARK)) {
        Some((inner, message)) => (join(&outer, inner), message.to_owned()),
        None => (outer, message.to_owned()),
    }
}

fn path_text(path: &serde_path_to_error::Path) -> String {
    let text = path.to_string();
    if text == "." { String::new() } else { text }
}

fn join(outer: &str, inner: &str) -> String {
    match (outer.is_empty(), inner.is_empty()) {
        (true, _) => inner.to_owned(),
        (_, true) => outer.to_owned(),
        (false, false) if inner.starts_with('[') => format!("{outer}{inner}"),
        (false, false) => format!("{outer}.{inner}"),
    }
}
