//! Finds known values and replaces them, in one pass over the text.

use std::borrow::Cow;

use aho_corasick::{AhoCorasick, MatchKind};
use serde_json::Value;

use crate::forms::forms;
use crate::shape::{PREFIXES, Shape, shape};

/// The replacement for a secret.
pub const HIDDEN: &str = "[secret]";

/// Hides a set of values, in every form in which they are searched for.
#[derive(Debug)]
pub struct Redactor {
    /// None if the patterns could not be compiled; then everything is hidden.
    automaton: Option<AhoCorasick>,
    /// Sorted, so that a beginning is found by binary search. The prefixes of credentials are not among them.
    patterns: Vec<Vec<u8>>,
    longest: usize,
}

/// A place to hide.
struct Found {
    start: usize,
    end: usize,
}

impl Redactor {
    pub fn new(values: &[String]) -> Self {
        let mut patterns: Vec<Vec<u8>> = values.iter().flat_map(|value| forms(value)).collect();
        patterns.sort_unstable();
        patterns.dedup();
        let all = patterns.iter().map(Vec::as_slice).chain(PREFIXES.iter().map(|prefix| prefix.as_bytes()));
        let automaton = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(all).ok();
        let longest = patterns.iter().map(Vec::len).max().unwrap_or(0);
        Self { automaton, patterns, longest }
    }

    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            // Values are whole characters, so the bytes between them are text.
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }

    pub fn bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let Some(mut found) = self.find(bytes, 0, true) else { return Cow::Borrowed(bytes) };
        let (mut clean, mut at) = (Vec::with_capacity(bytes.len()), 0);
        loop {
            clean.extend_from_slice(&bytes[at..found.start]);
            clean.extend_from_slice(HIDDEN.as_bytes());
            at = found.end;
            match self.find(bytes, at, true) {
                Some(next) => found = next,
                None => break,
            }
        }
        clean.extend_from_slice(&bytes[at..]);
        Cow::Owned(clean)
    }

    /// True if something was hidden. Names of members are cleaned too.
    pub fn json(&self, value: &mut Value) -> bool {
        match value {
            Value::String(text) => match self.text(text) {
                Cow::Borrowed(_) => false,
                Cow::Owned(clean) => {
                    *text = clean;
                    true
                }
            },
            Value::Array(list) => list.iter_mut().fold(false, |any, value| self.json(value) | any),
            Value::Object(members) => {
                let is_secret = |name: &String| self.find(name.as_bytes(), 0, true).is_some();
                let mut any = members.keys().any(is_secret);
                if any {
                    let all = std::mem::take(members);
                    *members =
                        all.into_iter().map(|(name, value)| (self.text(&name).into_owned(), value)).collect();
                }
                members.values_mut().for_each(|value| any |= self.json(value));
                any
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    /// The next place to hide from `at` on. `is_last`: no more bytes follow.
    fn find(&self, bytes: &[u8], mut at: usize, is_last: bool) -> Option<Found> {
        let Some(automaton) = &self.automaton else {
            return (at < bytes.len()).then_some(Found { start: at, end: bytes.len() });
        };
        loop {
            let found = automaton.find(aho_corasick::Input::new(bytes).range(at..))?;
            let (start, end) = (found.start(), found.end());
            if found.pattern().as_usize() < self.patterns.len() {
                return Some(Found { start, end });
            }
            match shape(bytes, start, is_last) {
                Shape::Whole(end) => return Some(Found { start, end }),
                Shape::Open | Shape::Other => at = start + 1,
            }
        }
    }

    /// Where the longest end of the bytes begins that may become something to hide, from `at` on.
    fn open_from(&self, bytes: &[u8], at: usize) -> usize {
        // A credential has no length that it keeps to; it is short all the same.
        const LONGEST_CREDENTIAL: usize = 512;
        let earliest = at.max(bytes.len().saturating_sub(self.longest.max(LONGEST_CREDENTIAL)));
        let may_grow = |from: &usize| {
            let remaining = &bytes[*from..];
            let next = self.patterns.partition_point(|pattern| pattern.as_slice() <= remaining);
            let grows = self.patterns.get(next).is_some_and(|pattern| pattern.starts_with(remaining));
            grows || self.opens_credential(bytes, *from)
        };
        (earliest..bytes.len()).find(may_grow).unwrap_or(bytes.len())
    }

    /// Where the bytes begin that must not be shown yet, from `open` on: an end that is `shortest` bytes long, or a
    /// quarter of a known value, if that is less.
    fn held_from(&self, bytes: &[u8], open: usize, shortest: usize) -> usize {
        let is_held = |from: &usize| {
            let remaining = &bytes[*from..];
            let first = self.patterns.partition_point(|pattern| pattern.as_slice() <= remaining);
            let mut grown =
                self.patterns[first..].iter().take_while(|pattern| pattern.starts_with(remaining));
            grown.any(|pattern| remaining.len() >= shortest.min(pattern.len() / 4))
                || (remaining.len() >= shortest && self.opens_credential(bytes, *from))
        };
        (open..bytes.len()).find(is_held).unwrap_or(bytes.len())
    }

    fn opens_credential(&self, bytes: &[u8], from: usize) -> bool {
        let remaining = &bytes[from..];
        PREFIXES.iter().any(|prefix| {
            let prefix = prefix.as_bytes();
            match remaining.len() < prefix.len() {
                true => prefix.starts_with(remaining),
                false => remaining.starts_with(prefix) && matches!(shape(bytes, from, false), Shape::Open),
            }
        })
    }
}

/// Text that comes in pieces: what may be the beginning of a secret waits for what follows it.
#[derive(Debug)]
pub struct Redacting {
    redactor: std::sync::Arc<Redactor>,
    /// What waits, after what was given away and may still turn out to be the beginning of a secret.
    buffer: Vec<u8>,
    given: usize,
    /// A shorter beginning is given away at once. The rest of the secret is still hidden.
    shortest_held: usize,
}

impl Redacting {
    /// Nothing of a secret is given away.
    pub fn new(redactor: std::sync::Arc<Redactor>) -> Self {
        Self { redactor, buffer: Vec::new(), given: 0, shortest_held: 1 }
    }

    /// Holds nothing back that could be ordinary text: of a secret that comes in pieces, fewer bytes than this may be
    /// seen, and less than a quarter of it.
    pub fn prompt(redactor: std::sync::Arc<Redactor>, shortest_held: usize) -> Self {
        Self { shortest_held, ..Self::new(redactor) }
    }

    /// What may be shown now.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.buffer.extend_from_slice(bytes);
        self.advance(false)
    }

    /// Nothing follows.
    pub fn end(&mut self) -> Vec<u8> {
        self.advance(true)
    }

    fn advance(&mut self, is_last: bool) -> Vec<u8> {
        let (buffer, redactor) = (&self.buffer, &self.redactor);
        let mut clean = Vec::new();
        let (mut at, mut given) = (0, self.given);
        loop {
            let open = if is_last { buffer.len() } else { redactor.open_from(buffer, at) };
            match redactor.find(buffer, at, is_last) {
                // A longer value that may still come goes before a shorter one that is there.
                Some(found) if found.start < open => {
                    clean.extend_from_slice(buffer.get(given..found.start).unwrap_or_default());
                    clean.extend_from_slice(HIDDEN.as_bytes());
                    at = found.end;
                    given = found.end;
                }
                Some(_) | None => {
                    let until = redactor.held_from(buffer, open, self.shortest_held);
                    clean.extend_from_slice(buffer.get(given..until).unwrap_or_default());
                    given = given.max(until);
                    self.buffer.drain(..open);
                    self.given = given - open.min(given);
                    return clean;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::json;

    use super::*;

    fn redactor(values: &[&str]) -> Arc<Redactor> {
        Arc::new(Redactor::new(&values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>()))
    }

    #[test]
    fn every_form_of_a_secret_is_hidden() {
        let secret = "p4ss \"wörd\"/+ 1234567";
        let redactor = redactor(&[secret]);
        let check = |text: &str| assert_eq!(redactor.text(text), "[secret]", "{text}");
        check(secret);
        check(json!(secret).to_string().trim_matches('"'));
        check("p4ss%20%22w%C3%B6rd%22%2F%2B%201234567");
        check("p4ss+%22w%C3%B6rd%22%2F%2B+1234567");
        for before in ["", "x", "yz", "abc"] {
            let text = STANDARD.encode(format!("{before}{secret} and more"));
            let clean = redactor.text(&text);
            let most = text.len() - secret.len() + "[secret]".len();
            assert!(clean.contains("[secret]") && clean.len() <= most, "{clean}");
        }
        let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
        check(&hex);
    }

    #[test]
    fn credentials_of_the_server_are_known_by_their_form() {
        let redactor = redactor(&[]);
        let key = format!("rr_0123456789abcdef_{}", "ab".repeat(32));
        assert_eq!(redactor.text(&format!("use {key}.")), "use [secret].");
        assert_eq!(redactor.text(&format!("?ticket=rt_{}&x", "0".repeat(64))), "?ticket=[secret]&x");
        for plain in ["rr_…", "err_no_such_thing", "rt_short", &format!("xrr_{}", "a".repeat(64))] {
            assert_eq!(redactor.text(plain), plain);
        }
    }

    #[test]
    fn wherever_a_stream_is_cut_it_is_clean() {
        let key = format!("rr_0123456789abcdef_{}", "ab".repeat(32));
        let redactor = redactor(&["abcabcabd", "abcabc"]);
        let text = format!("xabcabcabcabdyabcabcz r {key} abcab");
        let (text, whole) = (text.as_bytes(), "x[secret]abcabdy[secret]z r [secret] abcab");
        for first in 0..text.len() {
            for second in (first..text.len()).step_by(3) {
                let mut stream = Redacting::new(redactor.clone());
                let mut clean = stream.push(&text[..first]);
                clean.extend(stream.push(&text[first..second]));
                clean.extend(stream.push(&text[second..]));
                clean.extend(stream.end());
                assert_eq!(String::from_utf8_lossy(&clean), whole, "{first} {second}");
            }
        }
    }

    #[test]
    fn a_prompt_stream_holds_nothing_ordinary_and_shows_no_whole_secret() {
        let redactor = redactor(&["sesame-open-1234"]);
        let mut stream = Redacting::prompt(redactor.clone(), 6);
        assert_eq!(stream.push(b"all is ses"), b"all is ses");
        assert_eq!(stream.push(b"ame-"), b"");
        assert_eq!(stream.push(b"open-1234 is it"), b"[secret] is it");
        for first in 0..16 {
            let mut stream = Redacting::prompt(redactor.clone(), 6);
            let mut clean = stream.push(&b"sesame-open-1234"[..first]);
            clean.extend(stream.push(&b"sesame-open-1234"[first..]));
            clean.extend(stream.end());
            let clean = String::from_utf8_lossy(&clean).into_owned();
            assert!(clean.ends_with("[secret]") && clean.len() < 8 + 6, "{first}: {clean}");
        }
    }

    #[test]
    fn less_than_a_quarter_of_a_short_secret_is_shown_in_pieces() {
        for secret in ["hunter", "hunter22", "hunter2-dozen", "hunter2-and-a-very-long-tail"] {
            let redactor = redactor(&[secret]);
            let (mut stream, mut clean) = (Redacting::prompt(redactor, 6), Vec::new());
            for byte in format!("huh {secret} hunt").bytes() {
                clean.extend(stream.push(&[byte]));
            }
            clean.extend(stream.end());
            let clean = String::from_utf8_lossy(&clean).into_owned();
            let shown =
                clean.strip_prefix("huh ").and_then(|remaining| remaining.strip_suffix("[secret] hunt"));
            let shown = shown.unwrap_or_else(|| panic!("{clean}"));
            assert!(shown.len() < 6.min(secret.len() / 4).max(1), "{secret}: {clean}");
        }
    }

    #[test]
    fn json_is_clean_in_values_and_names() {
        let redactor = redactor(&["sesame-42"]);
        let mut value = json!({"sesame-42": ["x sesame-42", 1, null]});
        assert!(redactor.json(&mut value));
        assert_eq!(value, json!({"[secret]": ["x [secret]", 1, null]}));
        assert!(!redactor.json(&mut value));
    }
}
