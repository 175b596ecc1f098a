//! Says where in a payload something is wrong.
//!
//! Reading is done without paths. Only after a failure the text is read again, once, with them; the values that are
//! read from their own raw text (items, blocks) then hand the path inside them to the value around them.

use std::cell::Cell;

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

/// The longest message and the longest path that are told: both may quote what the sender wrote.
const MOST_CHARACTERS: usize = 240;

impl PayloadError {
    /// Reads the text again, this time with the path.
    pub(crate) fn explain<T: DeserializeOwned>(text: &str, error: serde_json::Error) -> Self {
        let located = {
            let _nesting = Nesting::enter(Nesting { depth: 0, locating: true });
            locate::<T>(text)
        };
        let (path, expected) = match located {
            Ok(_) => (String::new(), error.to_string()),
            Err(found) => found,
        };
        let path = if path.is_empty() { "payload".to_owned() } else { format!("payload.{path}") };
        Self { path: shorten(path), expected: shorten(expected) }
    }
}

/// Values inside values inside values: more levels than any sender needs, and few enough for every stack.
const DEEPEST: u32 = 100;

/// How deep the reader is in values that are read from their own raw text, and whether it looks for a path.
#[derive(Clone, Copy)]
struct Nesting {
    depth: u32,
    locating: bool,
}

thread_local! {
    static NESTING: Cell<Nesting> = const { Cell::new(Nesting { depth: 0, locating: false }) };
}

impl Nesting {
    fn enter(inner: Nesting) -> Leave {
        Leave(NESTING.replace(inner))
    }
}

/// Goes back to where the reader was.
struct Leave(Nesting);

impl Drop for Leave {
    fn drop(&mut self) {
        NESTING.set(self.0);
    }
}

/// Separates the path from the message while an error passes through an enclosing value.
const MARK: char = '\u{1}';

/// Reads a value from its raw text, inside another value.
pub(crate) fn nested<T: DeserializeOwned, E: serde::de::Error>(text: &str) -> Result<T, E> {
    let Nesting { depth, locating } = NESTING.get();
    if depth >= DEEPEST {
        return Err(E::custom(format_args!("values nest deeper than {DEEPEST} levels")));
    }
    let _nesting = Nesting::enter(Nesting { depth: depth + 1, locating });
    if !locating {
        return serde_json::from_str(text).map_err(E::custom);
    }
    locate(text).map_err(|(path, message)| E::custom(format_args!("{MARK}{path}{MARK}{message}")))
}

/// Reads with a path; the error is where and what.
fn locate<T: DeserializeOwned>(text: &str) -> Result<T, (String, String)> {
    let mut reader = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let outer = path_text(error.path());
        let message = error.inner().to_string();
        // Line and column count from the start of the payload, which the sender never saw.
        let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(text, _)| text);
        match message.strip_prefix(MARK).and_then(|marked| marked.split_once(MARK)) {
            Some((inner, message)) => (join(&outer, inner), message.to_owned()),
            None => (outer, message.to_owned()),
        }
    })
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

/// Keeps the beginning and the end, which says what was expected.
fn shorten(text: String) -> String {
    let count = text.chars().count();
    if count <= MOST_CHARACTERS {
        return text;
    }
    let half = MOST_CHARACTERS / 2;
    let head: String = text.chars().take(half).collect();
    let tail: String = text.chars().skip(count - half).collect();
    format!("{head}…{tail}")
}
