//! The one strict reader of JSON that comes from outside.
//!
//! It checks the whole text in one pass and copies it without insignificant white space, so that what is stored
//! fits on one line of SSE or NDJSON and every later parse can trust it. Numbers keep their exact text.

mod scanner;
mod walk;

use crate::ErrorCode;

pub use scanner::{compact, compact_text};
pub(crate) use walk::walk;

/// Limits for one JSON text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonLimits {
    /// Most levels of arrays and objects within each other.
    pub depth: usize,
    /// Most values in all.
    pub nodes: usize,
}

impl Default for JsonLimits {
    fn default() -> Self {
        Self { depth: 64, nodes: 100_000 }
    }
}

/// Where and why a text is not acceptable JSON. Line and column count from 1, the column in bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} at line {line}, column {column}")]
pub struct JsonError {
    code: ErrorCode,
    /// The line, from 1.
    pub line: usize,
    /// The byte in the line, from 1.
    pub column: usize,
    /// The byte in the text, from 0.
    pub offset: usize,
    message: String,
}

impl JsonError {
    fn new(code: ErrorCode, text: &[u8], offset: usize, message: impl Into<String>) -> Self {
        let before = &text[..offset.min(text.len())];
        let line = before.iter().filter(|b| **b == b'\n').count() + 1;
        let column = before.len() - before.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1) + 1;
        Self { code, line, column, offset, message: message.into() }
    }

    /// The stable code of the error.
    pub fn code(&self) -> ErrorCode {
        self.code
    }
}

/// Appends `text` as a JSON string with its quotes.
pub fn write_string(out: &mut String, text: &str) {
    out.push('"');
    let (mut plain_from, mut at) = (0, 0);
    loop {
        at += scanner::plain_bytes(&text.as_bytes()[at..]);
        let Some(byte) = text.as_bytes().get(at) else { break };
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            _ => "",
        };
        out.push_str(&text[plain_from..at]);
        at += 1;
        plain_from = at;
        if escape.is_empty() {
            out.push_str(&format!("\\u{byte:04x}"));
        } else {
            out.push_str(escape);
        }
    }
    out.push_str(&text[plain_from..]);
    out.push('"');
}

#[cfg(test)]
mod tests;
