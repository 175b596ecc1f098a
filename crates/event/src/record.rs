//! The stored form of an event, and the wire form composed from it.
//!
//! A record leaves out what the log knows: sequence, session, schema version, and the event id unless its producer
//! gave one. Composing the wire form copies bytes; it parses nothing.
//!
//! ```text
//! [flags 1][time 6, ms, little endian][type length 1][type][id length 1][id]  [members: one JSON object]
//!  bit 0: an event id follows the type         ^ only with bit 0
//! ```

use crate::cursor::decimal;
use crate::decode::decode_members;
use crate::{Draft, Event, EventId, EventType, SCHEMA_VERSION, Sequence, SessionId, Timestamp};

const HAS_EVENT_ID: u8 = 1;

/// The parts of a record, borrowed from its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    pub timestamp: Timestamp,
    pub kind: &'a str,
    event_id: Option<&'a str>,
    /// A JSON object without white space: scope, payload, refs and what else came.
    pub members: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the bytes are not an event record")]
pub struct RecordError;

/// Writes the stored form of a draft; `now` is its time unless it brought one.
pub fn write_record(draft: &Draft, now: Timestamp, out: &mut Vec<u8>) {
    let kind = draft.kind.as_str();
    out.push(if draft.event_id.is_some() { HAS_EVENT_ID } else { 0 });
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
    let text = &text.as_bytes()[..text.len().min(255)];
    out.push(text.len() as u8);
    out.extend_from_slice(text);
}

impl<'a> Record<'a> {
    pub fn read(bytes: &'a [u8]) -> Result<Self, RecordError> {
        let (head, rest) = bytes.split_at_checked(7).ok_or(RecordError)?;
        if head[0] & !HAS_EVENT_ID != 0 {
            return Err(RecordError);
        }
        let mut millis = [0; 8];
        millis[..6].copy_from_slice(&head[1..]);
        // The sign of the 48 bits goes on into the upper 16.
        let millis = i64::from_le_bytes(millis) << 16 >> 16;
        let (kind, rest) = take_short(rest)?;
        let (event_id, rest) = if head[0] & HAS_EVENT_ID != 0 {
            let (id, rest) = take_short(rest)?;
            (Some(id), rest)
        } else {
            (None, rest)
        };
        let members = std::str::from_utf8(rest).map_err(|_| RecordError)?;
        if !members.starts_with('{') || !members.ends_with('}') {
            return Err(RecordError);
        }
        Ok(Self { timestamp: Timestamp::from_millis(millis), kind, event_id, members })
    }

    /// Decodes it for the fold and the dialects.
    pub fn to_event(&self, sequence: Sequence) -> Result<Event, RecordError> {
        let event = decode_members(EventType::parse(self.kind), self.members).map_err(|_| RecordError)?;
        let event_id = self.event_id.map(EventId::new).transpose().map_err(|_| RecordError)?;
        Ok(Event { sequence, event_id, timestamp: self.timestamp, ..event })
    }
}

fn take_short(bytes: &[u8]) -> Result<(&str, &[u8]), RecordError> {
    let (length, rest) = bytes.split_first().ok_or(RecordError)?;
    let (text, rest) = rest.split_at_checked(usize::from(*length)).ok_or(RecordError)?;
    Ok((std::str::from_utf8(text).map_err(|_| RecordError)?, rest))
}

/// Composes wire forms for one session.
#[derive(Debug, Clone)]
pub struct Composer {
    /// `evt_…_`, to which the sequence is added.
    event_id_stem: String,
    /// `","timestamp":"` with the schema version before it.
    before_time: String,
    /// `,"sessionId":"…"`.
    session: String,
}

impl Composer {
    pub fn new(session: &SessionId, incarnation: u32) -> Self {
        use sha2::Digest;
        let digest = sha2::Sha256::digest(format!("{session} {incarnation}").as_bytes());
        let mut unique = [0; 16];
        unique[6..].copy_from_slice(&digest[..10]);
        Self {
            event_id_stem: format!("evt_{}_", crate::base32(u128::from_be_bytes(unique), 16)),
            before_time: format!("\",\"schemaVersion\":\"{SCHEMA_VERSION}\",\"timestamp\":\""),
            session: format!(",\"sessionId\":\"{session}\""),
        }
    }

    /// Appends the wire form: one JSON object on one line.
    pub fn write(&self, record: &Record<'_>, sequence: Sequence, out: &mut String) {
        self.write_joined(record, sequence, sequence, out);
    }

    /// As [`Composer::write`], for deltas `first..=sequence` that were joined into one record.
    pub fn write_joined(&self, record: &Record<'_>, first: Sequence, sequence: Sequence, out: &mut String) {
        let mut digits = [0; 20];
        let number = decimal(sequence.get(), &mut digits);
        out.push_str("{\"type\":\"");
        out.push_str(record.kind);
        out.push_str("\",\"eventId\":\"");
        match record.event_id {
            Some(id) => out.push_str(id),
            None => {
                out.push_str(&self.event_id_stem);
                out.push_str(number);
            }
        }
        out.push_str(&self.before_time);
        record.timestamp.write(out);
        if first != sequence {
            out.push_str("\",\"firstSequence\":");
            out.push_str(decimal(first.get(), &mut [0; 20]));
            out.push_str(",\"sequence\":");
        } else {
            out.push_str("\",\"sequence\":");
        }
        out.push_str(number);
        out.push_str(&self.session);
        if record.members.len() > 2 {
            out.push(',');
        }
        out.push_str(&record.members[1..]);
    }
}

#[cfg(test)]
mod tests;
