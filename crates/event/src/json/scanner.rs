//! One pass over the text: grammar, UTF-8, depth, node count, repeated keys, surrogates, number range.

use std::borrow::Cow;
use std::collections::HashSet;

use super::{JsonError, JsonLimits};
use crate::ErrorCode;

/// Checks `bytes` as one JSON value and returns it without insignificant white space.
///
/// A byte order mark at the start is dropped. Everything else is kept byte for byte.
pub fn compact(bytes: &[u8], limits: &JsonLimits) -> Result<String, JsonError> {
    compact_text(bytes, limits).map(Cow::into_owned)
}

/// As [`compact`], without a copy where there is nothing to drop.
pub fn compact_text<'a>(bytes: &'a [u8], limits: &JsonLimits) -> Result<Cow<'a, str>, JsonError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        JsonError::new(ErrorCode::InvalidUtf8, bytes, at, format!("invalid UTF-8 at byte {at}"))
    })?;
    let mut scanner = Scanner {
        text: text.as_bytes(),
        at: 0,
        copied_to: 0,
        out: String::new(),
        source: text,
        nodes: 0,
        limits,
    };
    scanner.skip_space();
    if scanner.at == text.len() {
        return Err(scanner.error(ErrorCode::BodyEmpty, "there is no JSON value"));
    }
    scanner.value(1)?;
    scanner.skip_space();
    if scanner.at < text.len() {
        return Err(scanner.error(ErrorCode::JsonSyntax, "something follows the JSON value"));
    }
    if scanner.copied_to == 0 {
        return Ok(Cow::Borrowed(text));
    }
    scanner.keep_up_to(scanner.at);
    Ok(Cow::Owned(scanner.out))
}

struct Scanner<'a> {
    text: &'a [u8],
    source: &'a str,
    at: usize,
    /// Everything before this place is in `out` or was white space.
    copied_to: usize,
    out: String,
    nodes: usize,
    limits: &'a JsonLimits,
}

impl<'a> Scanner<'a> {
    fn error(&self, code: ErrorCode, message: impl Into<String>) -> JsonError {
        JsonError::new(code, self.text, self.at, message)
    }

    fn syntax(&self, expected: &str) -> JsonError {
        match self.text.get(self.at) {
            None => self.error(ErrorCode::JsonSyntax, format!("the text ends where {expected} should be")),
            Some(_) => {
                let found = self.source[self.char_start()..].chars().next().unwrap_or('\u{fffd}');
                self.error(ErrorCode::JsonSyntax, format!("expected {expected}, found {found:?}"))
            }
        }
    }

    fn char_start(&self) -> usize {
        let mut at = self.at;
        while !self.source.is_char_boundary(at) {
            at -= 1;
        }
        at
    }

    fn keep_up_to(&mut self, end: usize) {
        self.out.push_str(&self.source[self.copied_to..end]);
        self.copied_to = end;
    }

    #[inline]
    fn skip_space(&mut self) {
        if self.text.get(self.at).is_some_and(|byte| *byte <= b' ') {
            self.skip_some_space();
        }
    }

    #[cold]
    fn skip_some_space(&mut self) {
        let start = self.at;
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.text.get(self.at) {
            self.at += 1;
        }
        if self.at > start {
            self.keep_up_to(start);
            self.copied_to = self.at;
        }
    }

    fn value(&mut self, depth: usize) -> Result<(), JsonError> {
        if depth > self.limits.depth {
            let message = format!("nested deeper than {}", self.limits.depth);
            return Err(self.error(ErrorCode::JsonTooDeep, message));
        }
        self.nodes += 1;
        if self.nodes > self.limits.nodes {
            let message = format!("more than {} values", self.limits.nodes);
            return Err(self.error(ErrorCode::JsonTooLarge, message));
        }
        match self.text.get(self.at) {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(|_| ()),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            Some(b'n') => self.word("null"),
            _ => Err(self.syntax("a JSON value")),
        }
    }

    fn word(&mut self, word: &str) -> Result<(), JsonError> {
        if !self.text[self.at..].starts_with(word.as_bytes()) {
            return Err(self.syntax(word));
        }
        self.at += word.len();
        Ok(())
    }

    fn object(&mut self, depth: usize) -> Result<(), JsonError> {
        self.at += 1;
        let mut keys = Keys::default();
        let source: &'a str = self.source;
        self.skip_space();
        if self.text.get(self.at) == Some(&b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            if self.text.get(self.at) != Some(&b'"') {
                return Err(self.syntax("a key in double quotes"));
            }
            let key_at = self.at;
            let escaped = self.string()?;
            if !keys.insert(&source[key_at..self.at], escaped) {
                let shown = short(&source[key_at..self.at]);
                self.at = key_at;
                return Err(self.error(ErrorCode::JsonDuplicateKey, format!("the key {shown} is repeated")));
            }
            self.skip_space();
            if self.text.get(self.at) != Some(&b':') {
                return Err(self.syntax("`:`"));
            }
            self.at += 1;
            self.skip_space();
            self.value(depth + 1)?;
            self.skip_space();
            match self.text.get(self.at) {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(self.syntax("`,` or `}`")),
            }
            self.skip_space();
        }
    }

    fn array(&mut self, depth: usize) -> Result<(), JsonError> {
        self.at += 1;
        self.skip_space();
        if self.text.get(self.at) == Some(&b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.value(depth + 1)?;
            self.skip_space();
            match self.text.get(self.at) {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(self.syntax("`,` or `]`")),
            }
            self.skip_space();
        }
    }

    /// Leaves `at` behind the closing quote; true if the string holds an escape.
    fn string(&mut self) -> Result<bool, JsonError> {
        self.at += 1;
        let mut escaped = false;
        loop {
            self.at += plain_bytes(&self.text[self.at..]);
            match self.text.get(self.at) {
                None => return Err(self.syntax("the end of a string")),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(escaped);
                }
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                Some(0..0x20) => return Err(self.syntax("an escaped control character")),
                Some(_) => self.at += 1,
            }
        }
    }

    fn escape(&mut self) -> Result<(), JsonError> {
        match self.text.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 2;
                Ok(())
            }
            Some(b'u') => self.unicode_escape(),
            _ => Err(self.syntax("a JSON escape")),
        }
    }

    fn unicode_escape(&mut self) -> Result<(), JsonError> {
        let lone = |scanner: &Self| {
            scanner.error(ErrorCode::JsonInvalidUnicode, "a `\\u` escape is half of a surrogate pair")
        };
        match self.hex4(self.at)? {
            0xdc00..0xe000 => Err(lone(self)),
            0xd800..0xdc00 => {
                let second = self.at + 6;
                if self.text.get(second..second + 2) != Some(b"\\u") {
                    return Err(lone(self));
                }
                if !(0xdc00..0xe000).contains(&self.hex4(second)?) {
                    return Err(lone(self));
                }
                self.at += 12;
                Ok(())
            }
            _ => {
                self.at += 6;
                Ok(())
            }
        }
    }

    fn hex4(&self, at: usize) -> Result<u32, JsonError> {
        let digits = self.text.get(at + 2..at + 6).filter(|d| d.iter().all(u8::is_ascii_hexdigit));
        let Some(digits) = digits else { return Err(self.syntax("four hexadecimal digits")) };
        Ok(digits.iter().fold(0, |sum, d| sum * 16 + char::from(*d).to_digit(16).unwrap_or(0)))
    }

    fn number(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        if self.text[self.at] == b'-' {
            self.at += 1;
        }
        match self.text.get(self.at) {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err(self.syntax("a digit")),
        }
        if self.text.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.required_digits()?;
        }
        if let Some(b'e' | b'E') = self.text.get(self.at) {
            self.at += 1;
            if let Some(b'+' | b'-') = self.text.get(self.at) {
                self.at += 1;
            }
            self.required_digits()?;
        }
        self.number_range(start)
    }

    fn digits(&mut self) {
        while let Some(b'0'..=b'9') = self.text.get(self.at) {
            self.at += 1;
        }
    }

    fn required_digits(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        self.digits();
        if self.at == start { Err(self.syntax("a digit")) } else { Ok(()) }
    }

    /// A number that no reader can hold (not finite as a double, or absurdly long) is refused where it stands.
    fn number_range(&mut self, start: usize) -> Result<(), JsonError> {
        const LONGEST: usize = 400;
        let text = &self.source[start..self.at];
        let finite = text.len() <= 15 || text.parse::<f64>().is_ok_and(f64::is_finite);
        // Short texts overflow only by their exponent.
        let finite = finite && (!text.contains(['e', 'E']) || text.parse::<f64>().is_ok_and(f64::is_finite));
        if text.len() > LONGEST || !finite {
            self.at = start;
            return Err(self.error(ErrorCode::NumberOutOfRange, "a number is out of range"));
        }
        Ok(())
    }
}

/// How many bytes come before the next quote, backslash or control character; eight are looked at together.
pub(super) fn plain_bytes(text: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = ONES << 7;
    // The lowest marked byte is exact; marks above it may be carried over, and are not looked at.
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & HIGHS;
    let mut at = 0;
    while let Some(eight) = text.get(at..at + 8) {
        let word = u64::from_le_bytes(eight.try_into().expect("eight bytes"));
        let control = word.wrapping_sub(ONES * 0x20) & !word & HIGHS;
        let marked =
            zeros(word ^ (ONES * u64::from(b'"'))) | zeros(word ^ (ONES * u64::from(b'\\'))) | control;
        if marked != 0 {
            return at + (marked.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    let special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
    text[at..].iter().position(special).map_or(text.len(), |found| at + found)
}

/// Keys that are kept as a list.
const FEW: usize = 12;

/// The keys of one object seen so far: a list while they are few and plain, a set otherwise.
#[derive(Default)]
struct Keys<'a> {
    few: [&'a str; FEW],
    count: usize,
    many: HashSet<Cow<'a, str>>,
}

impl<'a> Keys<'a> {
    /// Takes a key with its quotes; false if it was there.
    fn insert(&mut self, quoted: &'a str, escaped: bool) -> bool {
        let inner = &quoted[1..quoted.len() - 1];
        let key = match escaped.then(|| serde_json::from_str::<String>(quoted)) {
            Some(Ok(plain)) => Cow::Owned(plain),
            Some(Err(_)) | None => Cow::Borrowed(inner),
        };
        if let Cow::Borrowed(key) = key
            && self.count < FEW
            && self.many.is_empty()
        {
            let is_new = !self.few[..self.count].contains(&key);
            self.few[self.count] = key;
            self.count += 1;
            return is_new;
        }
        if self.many.is_empty() {
            self.many.extend(self.few[..self.count].iter().map(|key| Cow::Borrowed(*key)));
        }
        self.many.insert(key)
    }
}

/// A key in its quotes, as much of it as an error needs.
fn short(key: &str) -> String {
    const LONGEST: usize = 40;
    match key.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…\"", &key[..at]),
        None => key.to_owned(),
    }
}
