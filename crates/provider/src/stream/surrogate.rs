//! Characters outside the basic plane, cut in half between two deltas.
//!
//! A service that cuts text by UTF-16 units writes `"\ud83d"` at the end of one delta and `"\ude00"` at the start of
//! the next. Neither is a JSON string that Rust can hold, so the halves travel through the parser as stand-ins from the
//! last private plane and are joined (or replaced) where the text is given on.

const FIRST_STAND_IN: u32 = 0x10_f800;

/// Escapes of lone surrogates replaced by stand-ins; None if there are none.
pub fn hide(json: &str) -> Option<String> {
    let bytes = json.as_bytes();
    let mut out = String::new();
    let (mut at, mut copied_to) = (0, 0);
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            at += 1;
            continue;
        }
        let Some(unit) = escaped_unit(&bytes[at..]) else {
            at += 2;
            continue;
        };
        let next = escaped_unit(bytes.get(at + 6..).unwrap_or_default());
        if is_high(unit) && next.is_some_and(is_low) {
            at += 12;
            continue;
        }
        if is_high(unit) || is_low(unit) {
            out.push_str(&json[copied_to..at]);
            out.push(stand_in(unit));
            copied_to = at + 6;
        }
        at += 6;
    }
    (copied_to > 0).then(|| out + &json[copied_to..])
}

/// The unit of `\uXXXX` at the start of the bytes.
fn escaped_unit(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.strip_prefix(b"\\u")?.get(..4)?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

fn is_high(unit: u16) -> bool {
    (0xd800..0xdc00).contains(&unit)
}

fn is_low(unit: u16) -> bool {
    (0xdc00..0xe000).contains(&unit)
}

fn stand_in(unit: u16) -> char {
    char::from_u32(FIRST_STAND_IN + u32::from(unit) - 0xd800).expect("2048 surrogates fit below U+10FFFF")
}

fn unit_of(stand_in: char) -> Option<u16> {
    let offset = u32::from(stand_in).checked_sub(FIRST_STAND_IN)?;
    u16::try_from(offset + 0xd800).ok()
}

/// Joins halves over the deltas of one item.
#[derive(Debug, Default)]
pub struct Joiner {
    high: Option<u16>,
}

impl Joiner {
    /// The delta with whole characters, and how many halves had no partner. `has_stand_ins`: as the frame said.
    pub fn join(&mut self, delta: &str, has_stand_ins: bool) -> (String, usize) {
        if self.high.is_none() && !has_stand_ins {
            return (delta.to_owned(), 0);
        }
        let (mut out, mut lost) = (String::with_capacity(delta.len() + 4), 0);
        for c in delta.chars() {
            let unit = unit_of(c).filter(|_| has_stand_ins);
            match (self.high.take(), unit) {
                (Some(high), Some(low)) if is_low(low) => {
                    out.extend(char::decode_utf16([high, low]).flatten())
                }
                (high, unit) => {
                    let waits = unit.filter(|unit| is_high(*unit));
                    let orphans =
                        usize::from(high.is_some()) + usize::from(unit.is_some() && waits.is_none());
                    out.extend(std::iter::repeat_n(char::REPLACEMENT_CHARACTER, orphans));
                    lost += orphans;
                    self.high = waits;
                    out.extend(unit.is_none().then_some(c));
                }
            }
        }
        (out, lost)
    }

    /// True if a first half waits that will have no second one.
    pub fn end(&mut self) -> bool {
        self.high.take().is_some()
    }
}
