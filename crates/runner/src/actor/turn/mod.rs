//! The life of a turn: submitted, queued, started, steered, paused, retried, ended.

pub(super) mod cancellation;
pub(super) mod conversation;
pub(super) mod end;
pub(super) mod open_work;
pub(super) mod pause;
pub(super) mod queue;
pub(super) mod retry;
pub(super) mod rollback;
pub(super) mod start;
pub(super) mod steering;
pub(super) mod submission;

use std::collections::HashSet;

use riverrun_event::TaskId;

use crate::turns::TurnShare;

/// What the actor remembers of the turns at work.
pub(crate) struct TurnWork {
    /// What this session counts against its tenant's quota of running turns.
    pub at_work: TurnShare,
    /// Tasks whose run was lost with a former owner, and for which this actor began another.
    pub taken_over: HashSet<TaskId>,
}

impl TurnWork {
    pub fn new(at_work: TurnShare) -> Self {
        Self { at_work, taken_over: HashSet::new() }
    }
}
