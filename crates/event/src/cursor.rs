//! A reader's opaque place in a session's log.

use std::fmt;

use crate::{Sequence, SessionId};

/// After which event, and after how many frames of the next one, a reader goes on.
///
/// As text: `41.ab3d.9f` or, inside the frames of one event, `41+2.ab3d.9f`. The second part is a tag of the
/// session, the third the incarnation of its log (another one after a restore from a backup or an import), so that
/// a cursor of another session or of a log that was replaced is told apart from a place in this one.
/// A bare number is accepted too: people type it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// The last event that the reader has as a whole.
    pub sequence: Sequence,
    /// Frames of event `sequence + 1` that were already seen. Dialects that make several frames of one event
    /// need it; it is 0 at every boundary between events.
    pub part: u32,
    /// The session and the incarnation that the cursor was made for, as a check. None in short cursors.
    pub origin: Option<CursorOrigin>,
}

/// Which log a cursor was made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CursorOrigin {
    session_tag: u32,
    incarnation: u32,
}

/// The text is not a cursor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a cursor: give the `id` of the last event that was seen, or its sequence")]
pub struct CursorError(String);

impl CursorOrigin {
    /// The origin of cursors into this incarnation of the session's log.
    pub fn new(session: &SessionId, incarnation: u32) -> Self {
        use sha2::Digest;
        let digest = sha2::Sha256::digest(session.as_str().as_bytes());
        let session_tag = u32::from_be_bytes([0, digest[0], digest[1], digest[2]]) & 0xf_ffff;
        Self { session_tag, incarnation }
    }

    /// True if both are of the same session, in whatever incarnation.
    pub fn is_of_session(self, other: CursorOrigin) -> bool {
        self.session_tag == other.session_tag
    }
}

impl Cursor {
    /// The position behind an event.
    pub fn after(sequence: Sequence, origin: CursorOrigin) -> Self {
        Self { sequence, part: 0, origin: Some(origin) }
    }

    /// Reads the text form.
    pub fn parse(text: &str) -> Result<Self, CursorError> {
        read(text).ok_or_else(|| CursorError(text.chars().take(60).collect()))
    }

    /// What follows the sequence in the text of every cursor that stands after an event of this log.
    pub fn tail(origin: CursorOrigin) -> String {
        let mut text = String::new();
        Self::after(Sequence::ZERO, origin).write(&mut text);
        text.split_off(1)
    }

    /// Appends the text form; this is on the path of every delivered frame.
    pub fn write(&self, out: &mut String) {
        let mut digits = [0; 20];
        out.push_str(decimal(self.sequence.get(), &mut digits));
        if self.part > 0 {
            out.push('+');
            out.push_str(decimal(self.part.into(), &mut digits));
        }
        if let Some(origin) = self.origin {
            out.push('.');
            push_base32(out, origin.session_tag, 4);
            out.push('.');
            push_base32(out, origin.incarnation, 2);
        }
    }
}

fn read(text: &str) -> Option<Cursor> {
    let mut parts = text.split('.');
    let position = parts.next()?;
    let (sequence, part) = match position.split_once('+') {
        Some((sequence, part)) => (sequence, canonical(part)?),
        None => (position, 0),
    };
    let sequence = Sequence::new(canonical(sequence)?)?;
    let part = u32::try_from(part).ok()?;
    let origin = match (parts.next(), parts.next(), parts.next()) {
        (None, None, None) => None,
        (Some(tag), Some(incarnation), None) if tag.len() == 4 => {
            Some(CursorOrigin { session_tag: from_base32(tag)?, incarnation: from_base32(incarnation)? })
        }
        _ => return None,
    };
    Some(Cursor { sequence, part, origin })
}

/// A decimal number without sign or leading zero, as we write it.
fn canonical(text: &str) -> Option<u64> {
    let plain = text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    if plain { text.parse().ok() } else { None }
}

const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

fn push_base32(out: &mut String, value: u32, at_least: usize) {
    let width = (1..=7).find(|w| u64::from(value) < 1 << (5 * w)).unwrap_or(7).max(at_least);
    for position in (0..width).rev() {
        out.push(char::from(DIGITS[(u64::from(value) >> (5 * position) & 31) as usize]));
    }
}

fn from_base32(text: &str) -> Option<u32> {
    if text.is_empty() || text.len() > 7 {
        return None;
    }
    let value = text
        .bytes()
        .try_fold(0_u64, |sum, byte| Some(sum * 32 + DIGITS.iter().position(|d| *d == byte)? as u64))?;
    u32::try_from(value).ok()
}

/// The decimal digits of `value`, without an allocation.
pub(crate) fn decimal(mut value: u64, buffer: &mut [u8; 20]) -> &str {
    let mut at = buffer.len();
    loop {
        at -= 1;
        buffer[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    std::str::from_utf8(&buffer[at..]).expect("decimal digits are ASCII")
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        self.write(&mut out);
        f.write_str(&out)
    }
}

impl std::str::FromStr for Cursor {
    type Err = CursorError;
    fn from_str(text: &str) -> Result<Self, CursorError> {
        Self::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_we_write_and_bare_numbers_are_cursors() {
        for bad in [
            "",
            "abc",
            "-1",
            "1.5",
            "18446744073709551616",
            "9007199254740992",
            "01",
            "1.abc.2",
            "1.abcd",
            "1.abcd.2.3",
            "+1",
            "1+",
            "1.ABCD.2",
            "1.abcu.2",
        ] {
            assert!(Cursor::parse(bad).is_err(), "{bad}");
        }
        assert_eq!(Cursor::parse("41").map(|c| (c.sequence.get(), c.part, c.origin)), Ok((41, 0, None)));
    }

    #[test]
    fn sessions_and_incarnations_have_different_cursors() -> Result<(), Box<dyn std::error::Error>> {
        let (a, b) = (SessionId::new("a")?, SessionId::new("b")?);
        assert!(!CursorOrigin::new(&a, 1).is_of_session(CursorOrigin::new(&b, 1)));
        assert!(CursorOrigin::new(&a, 1).is_of_session(CursorOrigin::new(&a, 2)));
        assert_ne!(CursorOrigin::new(&a, 1), CursorOrigin::new(&a, 2));
        Ok(())
    }

    proptest::proptest! {
        #[test]
        fn cursors_round_trip(sequence in 0_u64..1 << 53, part in 0_u32..9, incarnation: u32) {
            let Ok(session) = SessionId::new("ses_x") else { unreachable!() };
            let origin = Some(CursorOrigin::new(&session, incarnation));
            let cursor = Cursor { sequence: Sequence::new(sequence).unwrap_or_default(), part, origin };
            proptest::prop_assert_eq!(Cursor::parse(&cursor.to_string()), Ok(cursor));
        }

        #[test]
        fn no_text_panics(text: String) {
            let _ = Cursor::parse(&text);
        }
    }
}
