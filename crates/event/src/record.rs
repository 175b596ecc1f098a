//! The stored form of an event, and the wire form composed from it.
//!
//! A record leaves out what the log knows: sequence, session, schema version, and the event id unless its producer
//! gave one. Composing the wire form copies bytes; it parses nothing.
//!
//! ```text
//! [flags 1][time 6, ms, little endian][type length 1][type][id length 1][id]  [members: one JSON object]
//!  bit 0: an event id follows the type         ^ only with bit 0
//!  bits 1 to 3: the author
//! ```

mod compose;

pub use compose::{Composer, Composing, IdOrigin, Surround};

use crate::decode::decode_members;
use crate::{Author, Draft, Event, EventId, EventType, Sequence, Timestamp};

const HAS_EVENT_ID: u8 = 1;
/// Where the author is in the flags.
const AUTHOR_SHIFT: u8 = 1;
const AUTHOR: u8 = 0b111 << AUTHOR_SHIFT;
/// The longest text whose length takes one byte.
const SHORT: usize = 255;

/// The parts of a record, borrowed from its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// Who wrote the event.
    pub author: Author,
    /// When it happened.
    pub timestamp: Timestamp,
    /// Its type on the wire.
    pub kind: &'a str,
    event_id: Option<&'a str>,
    /// A JSON object without white space: scope, payload, refs and what else came.
    pub members: &'a str,
}

/// The bytes are not a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the bytes are not an event record")]
pub struct RecordError;

/// How many bytes [`write_record`] writes.
pub fn record_length(draft: &Draft) -> usize {
    let short = |text: &str| 1 + text.len().min(SHORT);
    let id = draft.event_id.as_ref().map_or(0, |id| short(id.as_str()));
    7 + short(draft.kind.as_str()) + id + draft.members.len()
}

/// Writes the stored form of a draft; `now` is its time unless it brought one.
pub fn write_record(draft: &Draft, now: Timestamp, out: &mut Vec<u8>) {
    let kind = draft.kind.as_str();
    let has_event_id = if draft.event_id.is_some() { HAS_EVENT_ID } else { 0 };
    out.push(has_event_id | draft.author.code() << AUTHOR_SHIFT);
    let millis = draft.timestamp.unwrap_or(now).millis();
    out.extend_from_slice(&millis.to_le_bytes()[..6]);
    push_short(out, kind);
    if let Some(id) = &draft.event_id {
        push_short(out, id.as_str());
    }
    out.extend_from_slice(draft.members.as_bytes());
}

/// Type names and ids are at most 128 bytes long.
fn push_short(out: &mut Vec<u8>, text: &str) {
    let text = &text.as_bytes()[..text.len().min(SHORT)];
    out.push(text.len() as u8);
    out.extend_from_slice(text);
}

/// The parts of a record as they are stored. What only copies them need not know that they are text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordBytes<'a> {
    /// Who wrote the event.
    pub author: Author,
    /// When it happened.
    pub timestamp: Timestamp,
    /// Its type on the wire.
    pub kind: &'a [u8],
    /// The id that the producer chose, if it chose one.
    pub event_id: Option<&'a [u8]>,
    /// As in [`Record::members`].
    pub members: &'a [u8],
}

impl<'a> RecordBytes<'a> {
    /// Splits the bytes into their parts, without a look at the text.
    pub fn read(bytes: &'a [u8]) -> Result<Self, RecordError> {
        let (head, remaining) = bytes.split_at_checked(7).ok_or(RecordError)?;
        if head[0] & !(HAS_EVENT_ID | AUTHOR) != 0 {
            return Err(RecordError);
        }
        let author = Author::of_code((head[0] & AUTHOR) >> AUTHOR_SHIFT).ok_or(RecordError)?;
        let mut millis = [0; 8];
        millis[..6].copy_from_slice(&head[1..]);
        // The sign of the 48 bits goes on into the upper 16.
        let millis = i64::from_le_bytes(millis) << 16 >> 16;
        let (kind, remaining) = take_short(remaining)?;
        let (event_id, members) = if head[0] & HAS_EVENT_ID != 0 {
            let (id, remaining) = take_short(remaining)?;
            (Some(id), remaining)
        } else {
            (None, remaining)
        };
        if members.len() < 2 || members[0] != b'{' || members[members.len() - 1] != b'}' {
            return Err(RecordError);
        }
        Ok(Self { author, timestamp: Timestamp::from_millis(millis), kind, event_id, members })
    }
}

impl<'a> Record<'a> {
    /// Splits the bytes into their parts and checks that they are text.
    pub fn read(bytes: &'a [u8]) -> Result<Self, RecordError> {
        let RecordBytes { author, timestamp, kind, event_id, members } = RecordBytes::read(bytes)?;
        let text = |bytes| std::str::from_utf8(bytes).map_err(|_| RecordError);
        Ok(Self {
            author,
            timestamp,
            kind: text(kind)?,
            event_id: event_id.map(text).transpose()?,
            members: text(members)?,
        })
    }

    /// Decodes it for the fold and the dialects.
    pub fn to_event(&self, sequence: Sequence) -> Result<Event, RecordError> {
        let event = decode_members(EventType::parse(self.kind), self.members).map_err(|_| RecordError)?;
        let event_id = self.event_id.map(EventId::new).transpose().map_err(|_| RecordError)?;
        Ok(Event { sequence, event_id, timestamp: self.timestamp, author: self.author, ..event })
    }
}

fn take_short(bytes: &[u8]) -> Result<(&[u8], &[u8]), RecordError> {
    let (length, remaining) = bytes.split_first().ok_or(RecordError)?;
    remaining.split_at_checked(usize::from(*length)).ok_or(RecordError)
}

#[cfg(test)]
mod tests;
