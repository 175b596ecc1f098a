//! The cursor in a message: it sorts as a text, and says how much of an event was seen.

use riverrun_event::Sequence;

/// Behind part `part` (from 0) of the event `sequence`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventId {
    pub sequence: Sequence,
    pub part: u32,
}

impl EventId {
    /// The part of a place behind a whole event.
    pub const WHOLE: u32 = 9999;

    /// The text form has as many digits for every event, so it sorts.
    pub fn write(self) -> String {
        if self.part > Self::WHOLE {
            return format!("{:016}.{}", self.sequence.get(), self.part);
        }
        let mut text = *b"0000000000000000.0000";
        digits(&mut text[..16], self.sequence.get());
        digits(&mut text[17..], u64::from(self.part));
        text.iter().map(|byte| char::from(*byte)).collect()
    }

    /// A bare number is the position after the whole event. None for a text that is not a cursor.
    pub fn parse(text: &str) -> Option<Self> {
        let (sequence, part) = text.split_once('.').unwrap_or((text, "9999"));
        let sequence = match sequence.parse().ok()? {
            0 => Sequence::ZERO,
            number => Sequence::new(number)?,
        };
        Some(Self { sequence, part: part.parse().ok()? })
    }
}

/// Writes the number from the right; the places before it keep their zeros.
fn digits(digits_out: &mut [u8], mut number: u64) {
    for digit in digits_out.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}
