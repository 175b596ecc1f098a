//! Events as values: decoded for the fold and the dialects, and as drafts on their way into a log.

use std::borrow::Cow;

use serde::Serialize;

use crate::decode::{check_type, decode_members};
use crate::{
    Author, DecodeError, Decoded, EventId, EventScope, EventType, JobScope, Payload, PayloadError, RawJson,
    Sequence, Timestamp,
};

/// The version that every envelope of ours names.
pub const SCHEMA_VERSION: &str = "riverrun/1";

/// A fact at its place in a session's log, decoded.
#[derive(Debug, Clone)]
pub struct Event {
    /// Set when adjacent deltas were joined on their way to a reader: the first of them. `sequence` is the last.
    pub first_sequence: Option<Sequence>,
    /// Its number in the log.
    pub sequence: Sequence,
    /// Given by its producer; otherwise it follows from the session and the sequence.
    pub event_id: Option<EventId>,
    /// When it happened.
    pub timestamp: Timestamp,
    /// Who appended it, for events that were read from a log.
    pub author: Author,
    /// Its type.
    pub kind: EventType,
    /// What it belongs to.
    pub scope: EventScope,
    /// A stored payload that does not fit its type is data, not a panic: readers record a problem.
    pub payload: Result<Payload, PayloadError>,
    /// The payload's text. Deltas and items go without it: their typed form says everything.
    pub raw_payload: Option<RawJson>,
    /// The process, channel, job, artifact or evidence that it is about.
    pub subject: Option<String>,
    /// The job and the item that it is about.
    pub job: Option<Box<JobScope>>,
}

/// An event before it has a place: what a producer hands in, checked and in canonical form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// Its type.
    pub kind: EventType,
    /// The id that the producer chose; None for the id that follows from the sequence.
    pub event_id: Option<EventId>,
    /// When it happened; None for the time of its append.
    pub timestamp: Option<Timestamp>,
    /// Set by whoever appends it, never by what it says.
    pub author: Author,
    /// The envelope's other members as one JSON object without white space.
    pub(crate) members: String,
}

impl Draft {
    /// Makes a draft of a typed payload.
    pub fn new(kind: EventType, scope: &EventScope, payload: &impl Serialize) -> Self {
        let payload =
            serde_json::to_string(payload).expect("payload types serialise to JSON: string keys, no errors");
        Self::from_parts(kind, scope, &[], Some(&payload), None)
    }

    /// Makes a draft that is about something beside its scope, as `("processId", "proc_1")`.
    pub fn about(
        kind: EventType,
        scope: &EventScope,
        subject: (&str, &str),
        payload: &impl Serialize,
    ) -> Self {
        let payload =
            serde_json::to_string(payload).expect("payload types serialise to JSON: string keys, no errors");
        let mut id = String::new();
        crate::json::write_string(&mut id, subject.1);
        Self::from_parts(kind, scope, &[(Cow::Borrowed(subject.0), &id)], Some(&payload), None)
    }

    /// Gives the draft a time of its own; otherwise the log's clock does.
    pub fn at(mut self, timestamp: Timestamp) -> Self {
        self.timestamp = Some(timestamp);
        self
    }

    pub(crate) fn from_parts(
        kind: EventType,
        scope: &EventScope,
        extra: &[(Cow<'_, str>, &str)],
        payload: Option<&str>,
        refs: Option<&str>,
    ) -> Self {
        let mut members = String::with_capacity(payload.map_or(0, str::len) + 160);
        members.push('{');
        scope.write_members(&mut members);
        for (name, value) in extra {
            crate::json::write_string(&mut members, name);
            members.push(':');
            members.push_str(value);
            members.push(',');
        }
        for (name, value) in [("\"payload\":", payload), ("\"refs\":", refs)] {
            if let Some(value) = value {
                members.push_str(name);
                members.push_str(value);
                members.push(',');
            }
        }
        if members.ends_with(',') {
            members.pop();
        }
        members.push('}');
        Self { kind, event_id: None, timestamp: None, author: Author::Unknown, members }
    }

    /// The envelope's members behind the head, as one JSON object.
    pub fn members(&self) -> &str {
        &self.members
    }

    /// What it will be at `sequence`, read as it will be read from the log. `now` is its time if it has none.
    pub fn to_event(&self, sequence: Sequence, now: Timestamp) -> Result<Event, DecodeError> {
        let event = decode_members(self.kind.clone(), &self.members)?;
        let timestamp = self.timestamp.unwrap_or(now);
        Ok(Event { sequence, event_id: self.event_id.clone(), timestamp, author: self.author, ..event })
    }

    /// As if a producer had handed it in.
    pub fn into_decoded(self) -> Result<Decoded, DecodeError> {
        check_type(self.kind.as_str())?;
        let event = decode_members(self.kind.clone(), &self.members)?;
        let Event { scope, payload, raw_payload, subject, job, .. } = event;
        let payload = payload.map_err(DecodeError::from)?;
        let (sequence, session_id) = (None, None);
        Ok(Decoded { draft: self, scope, payload, raw_payload, sequence, session_id, subject, job })
    }

    /// The size that limits are about.
    pub fn size(&self) -> usize {
        self.members.len() + self.kind.as_str().len()
    }
}
