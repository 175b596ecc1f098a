//! What a reader learns first: how it is served, and what its stream shows.

use riverrun_dialect::{Control, Dialect, IndexUnit, Opening, Resume, Shows};
use riverrun_event::{Cursor, Sequence, TurnId};

/// The contents of `stream.opened`.
#[derive(Debug, Clone)]
pub struct StreamOpened {
    pub outcome: Opening,
    pub after: Sequence,
    pub head: Sequence,
    /// Where the reader stands behind everything that brings it to its place.
    pub cursor: Cursor,
    pub dialect: Dialect,
    pub index_unit: IndexUnit,
    /// The filter in force, as a JSON object.
    pub filter_json: String,
    /// What of the session is shown.
    pub scope: StreamScope,
    pub resume: Resume,
    pub retry_millis: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamScope {
    Session,
    /// One turn; None if it is the next that begins.
    Turn(Option<TurnId>),
}

impl StreamOpened {
    pub fn shows(&self) -> Shows<'_> {
        match &self.scope {
            StreamScope::Session => Shows::Session,
            StreamScope::Turn(turn) => Shows::Turn(turn.as_ref().map(TurnId::as_str)),
        }
    }

    pub fn control(&self) -> Control<'_> {
        Control::Opened {
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
