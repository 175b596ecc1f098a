//! The ways in which one secret may be written: as it is, or encoded by something that passed it on.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use serde_json::Value;

/// Shorter values are not searched for: they would be found everywhere.
pub(crate) const SHORTEST: usize = 6;
/// A line of a longer value, such as of a key in PEM, is searched for by itself from this length on.
const SHORTEST_LINE: usize = 16;
/// Shorter encodings are not searched for: ordinary data could hold them.
const SHORTEST_ENCODED: usize = 12;

/// Every form of the value that is searched for.
pub(crate) fn forms(value: &str) -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = Vec::new();
    for text in parts(value) {
        let bytes = text.as_bytes();
        all.push(bytes.to_vec());
        all.push(in_json(text).into_bytes());
        all.push(percent(bytes, "%20", true).into_bytes());
        all.push(percent(bytes, "%20", false).into_bytes());
        all.push(percent(bytes, "+", true).into_bytes());
        let mut encoded = in_base64(bytes);
        encoded.push(hex(bytes, false));
        encoded.push(hex(bytes, true));
        encoded.retain(|form| form.len() >= SHORTEST_ENCODED && bytes.len() >= SHORTEST_ENCODED - 4);
        all.extend(encoded.into_iter().map(String::into_bytes));
    }
    all.retain(|form| form.len() >= SHORTEST);
    all.sort_unstable();
    all.dedup();
    all
}

/// The value, and what of it may stand alone: what follows the scheme of an `Authorization` header, or a line.
fn parts(value: &str) -> Vec<&str> {
    let mut parts = vec![value];
    if let Some(("Bearer" | "Basic" | "Token" | "token" | "bearer", remaining)) = value.split_once(' ') {
        parts.push(remaining.trim());
    }
    let lines = value.lines().filter(|line| *line != value && !line.starts_with("-----"));
    parts.extend(lines.filter(|line| line.len() >= SHORTEST_LINE));
    parts.retain(|part| part.len() >= SHORTEST);
    parts
}

fn in_json(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

fn percent(bytes: &[u8], space: &str, is_upper: bool) -> String {
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                text.push(char::from(*byte))
            }
            b' ' => text.push_str(space),
            byte if is_upper => text.push_str(&format!("%{byte:02X}")),
            byte => text.push_str(&format!("%{byte:02x}")),
        }
    }
    text
}

fn hex(bytes: &[u8], is_upper: bool) -> String {
    let digits = |byte: &u8| if is_upper { format!("{byte:02X}") } else { format!("{byte:02x}") };
    bytes.iter().map(digits).collect()
}

/// The characters that the value fills whole, for each of the three places that it can have in a longer text.
fn in_base64(bytes: &[u8]) -> Vec<String> {
    let mut all = Vec::new();
    for before in 0..3 {
        let mut padded = vec![0; before];
        padded.extend_from_slice(bytes);
        let (first, end) = ((before * 8).div_ceil(6), padded.len() * 8 / 6);
        for text in [STANDARD_NO_PAD.encode(&padded), URL_SAFE_NO_PAD.encode(&padded)] {
            all.push(text.get(first..end).unwrap_or_default().to_owned());
        }
    }
    all
}
