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
        format!("{:016}.{:04}", self.sequence.get(), self.part)
    }

    /// A bare number stands behind the whole event. None for a text that is no cursor.
    pub fn parse(text: &str) -> Option<Self> {
        let (sequence, part) = text.split_once('.').unwrap_or((text, "9999"));
        let sequence = match sequence.parse().ok()? {
            0 => Sequence::ZERO,
            number => Sequence::new(number)?,
        };
        Some(Self { sequence, part: part.parse().ok()? })
    }
}
