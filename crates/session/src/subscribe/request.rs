//! What a reader asks for, the same for every transport.

use riverrun_dialect::{Dialect, ReaderOptions};
use riverrun_event::{Cursor, TaskId, TurnId};

use super::filter::TypePattern;

/// How a reader that is behind comes to the live end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CatchUp {
    /// Every event, one by one.
    #[default]
    Replay,
    /// Every event, with adjacent deltas joined.
    Coalesce,
    /// The state first.
    Snapshot,
}

/// Whether a stream goes on when it has caught up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Follow {
    /// It waits for more.
    #[default]
    Live,
    /// It ends.
    UntilCaughtUp,
}

/// What a reader asks for.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The reader's position; None for the beginning.
    pub after: Option<Cursor>,
    /// The wire format.
    pub dialect: Dialect,
    /// What the reader chose in it.
    pub options: ReaderOptions,
    /// Only this turn.
    pub turn: Option<TurnId>,
    /// Only this task and those below it.
    pub task: Option<TaskId>,
    /// Only events of these types.
    pub types: Vec<TypePattern>,
    /// How it comes to the live end.
    pub catch_up: CatchUp,
    /// What happens there.
    pub follow: Follow,
    /// Frames of the turn that the reader has seen, in a dialect that numbers them.
    pub frames_seen: Option<u64>,
    /// Frames of a page; a stream has no limit.
    pub limit: usize,
}

impl Request {
    /// True if not all events are asked for.
    pub fn is_filtered(&self) -> bool {
        self.turn.is_some() || self.task.is_some() || !self.types.is_empty()
    }
}
