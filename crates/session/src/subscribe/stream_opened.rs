//! What a reader learns first: how it is served, and what its stream shows.

use riverrun_dialect::{ControlMessage, Dialect, OffsetUnit, Opening, ResumeMethod, Shows};
use riverrun_event::{Cursor, Sequence, TurnId};

/// The contents of `stream.opened`.
#[derive(Debug, Clone)]
pub struct StreamOpened {
    /// How the reader is served.
    pub outcome: Opening,
    /// The last event that the reader had.
    pub after: Sequence,
    /// The last event of the log.
    pub head: Sequence,
    /// Where the reader stands behind everything that brings it to its place.
    pub cursor: Cursor,
    /// The wire format.
    pub dialect: Dialect,
    /// The unit of offsets in text.
    pub index_unit: OffsetUnit,
    /// The filter in force, as a JSON object.
    pub filter_json: String,
    /// What of the session is shown.
    pub scope: StreamScope,
    /// How the reader can resume.
    pub resume: ResumeMethod,
    /// How long a reader that is cut should wait, in milliseconds.
    pub retry_millis: u64,
}

/// What of a session a stream shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamScope {
    /// All of it.
    Session,
    /// One turn; None if it is the next that begins.
    Turn(Option<TurnId>),
}

impl StreamOpened {
    /// What the stream shows, as the dialects write it.
    pub fn shows(&self) -> Shows<'_> {
        match &self.scope {
            StreamScope::Session => Shows::Session,
            StreamScope::Turn(turn) => Shows::Turn(turn.as_ref().map(TurnId::as_str)),
        }
    }

    /// The frame.
    pub fn control(&self) -> ControlMessage<'_> {
        ControlMessage::Opened {
            outcome: self.outcome,
            after: self.after,
            head: self.head,
            cursor: self.cursor,
            dialect: self.dialect.name(),
            index_unit: self.index_unit.as_str(),
            filter_json: &self.filter_json,
            shows: self.shows(),
            resume: self.resume,
            retry_millis: self.retry_millis,
        }
    }
}
