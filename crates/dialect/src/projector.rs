//! What every dialect provides.

use riverrun_event::{Event, Record, Sequence};
use riverrun_fold::State;

use crate::request::RequestFailure;
use crate::{Frames, Languages};

/// The unit of offsets in text. Stored offsets are code points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum OffsetUnit {
    #[default]
    CodePoint,
    Utf16,
    Utf8,
}

impl OffsetUnit {
    pub const ALL: [OffsetUnit; 3] = [OffsetUnit::CodePoint, OffsetUnit::Utf16, OffsetUnit::Utf8];

    pub fn as_str(self) -> &'static str {
        match self {
            OffsetUnit::CodePoint => "code_point",
            OffsetUnit::Utf16 => "utf16",
            OffsetUnit::Utf8 => "utf8",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|unit| unit.as_str() == text)
    }
}

/// How approvals that were required at once are shown, in a dialect that can show them as one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Approvals {
    #[default]
    Together,
    Separate,
}

impl Approvals {
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "together" => Some(Approvals::Together),
            "separate" => Some(Approvals::Separate),
            _ => None,
        }
    }
}

/// A reader's choices. Readers with equal options get equal bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ReaderOptions {
    pub index_unit: OffsetUnit,
    /// The first event of the turn that is projected, for the dialects that show one turn (the others ignore it).
    /// It is `Turn::first_sequence` in the state. Without it such a dialect shows the newest turn that has not
    /// ended, else the next that begins.
    pub turn: Option<Sequence>,
    /// The last of several decisions that the reader gave together. They stand one behind the other in the log; the
    /// turn waits for the next of them, and that is no pause to who gave it.
    pub decided: Option<Sequence>,
    /// The languages of texts that no model wrote, best first; for a dialect that has such texts.
    pub languages: Languages,
    pub approvals: Approvals,
    /// Frames have the numbers of every view of a turn, for one who shows one of them later on (`blocks::Display`).
    /// Without it each turn is shown as it was asked for.
    pub all_views: bool,
}

/// Projects a log, event by event, into the frames of one dialect.
///
/// ```text
///   log     [ 1  2  3  4 | 5  6 ]
///   reader         knows 1..4 ^        tail: event(5), event(6)
///   reader without a state:            opening() after 1..4 were applied, then event(5), event(6)
/// ```
///
/// An implementer guarantees: the frames of an event depend on the events up to it and the options alone; a reader
/// that gets `opening()` at any place and then the tail holds what a reader of everything holds.
pub trait Projector: Send {
    /// Takes the next event and appends its frames. Every event of the log must come, in order.
    fn event(&mut self, record: &Record<'_>, event: &Event, frames: &mut Frames);

    /// Appends frames that bring a reader without a state to this projector's position.
    fn opening(&self, frames: &mut Frames);

    /// The state of this projector; None if it keeps none.
    fn state(&self) -> Option<&State>;

    /// The last event that was taken.
    fn sequence(&self) -> Sequence;

    /// True once the dialect's terminal frame was made: only then may a body end cleanly. Dialects that follow a
    /// whole session never end.
    fn is_over(&self) -> bool {
        false
    }

    /// The answer as one JSON value, for a reader that asked for no stream.
    fn answer(&self) -> WholeAnswer {
        WholeAnswer::None
    }
}

/// The answer of a dialect that shows one turn, as one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WholeAnswer {
    /// The dialect has no such object, or the turn was not seen yet.
    None,
    /// The turn is open; this is the object so far.
    Open(String),
    /// The turn is over.
    Whole(String),
    /// The turn failed in a dialect that answers failures with an error; see `Dialect::error_body`.
    Failed(RequestFailure),
}
