//! What a reader asks for, the same for every transport.

use riverrun_dialect::{Dialect, Options};
use riverrun_event::{Cursor, TaskId, TurnId};

use super::filter::TypePattern;

/// How a reader that is behind comes to the live end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CatchUp {
    #[default]
    Replay,
    Coalesce,
    Snapshot,
}

/// Whether a stream goes on when it has caught up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Follow {
    #[default]
    Live,
    UntilCaughtUp,
}

#[derive(Debug, Clone, Default)]
pub struct Request {
    pub after: Option<Cursor>,
    pub dialect: Dialect,
    pub options: Options,
    pub turn: Option<TurnId>,
    pub task: Option<TaskId>,
    pub types: Vec<TypePattern>,
    pub catch_up: CatchUp,
    pub follow: Follow,
    /// Frames of the turn that the reader has seen, in a dialect that numbers them.
    pub frames_seen: Option<u64>,
    /// Frames of a page; a stream has no limit.
    pub limit: usize,
}

impl Request {
    pub fn is_filtered(&self) -> bool {
        self.turn.is_some() || self.task.is_some() || !self.types.is_empty()
    }
}
