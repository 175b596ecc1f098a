//! AgentLin's words for where a task stands.

use riverrun_fold::Status;

/// A word of AgentLin's, in both of its spellings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Word {
    /// In the object: `input-required`.
    pub(super) status: &'static str,
    /// The frame that says it: `task.input_required`.
    pub(super) frame: &'static str,
    /// False if AgentLin has no word for it and the nearest one is used; then `native_status` has ours.
    pub(super) is_exact: bool,
}

/// Every status of AgentLin's.
pub const STATUSES: [&str; 9] = [
    "created",
    "queued",
    "working",
    "input-required",
    "paused",
    "completed",
    "canceled",
    "expired",
    "failed",
];

/// AgentLin's status for one of ours.
pub fn status(status: Status) -> &'static str {
    word(status).status
}

pub(super) fn word(status: Status) -> Word {
    let (status, frame, is_exact) = match status {
        Status::Accepted => ("created", "task.created", true),
        Status::Unknown | Status::Idle | Status::Draft | Status::Preparing => {
            ("created", "task.created", false)
        }
        Status::Queued => ("queued", "task.queued", true),
        Status::Running => ("working", "task.working", true),
        Status::WaitingResource | Status::Blocked | Status::Retrying | Status::Cancelling | Status::Stale => {
            ("working", "task.working", false)
        }
        Status::WaitingInput => ("input-required", "task.input_required", true),
        Status::WaitingPermission => ("input-required", "task.input_required", false),
        Status::Paused => ("paused", "task.paused", true),
        Status::Completed => ("completed", "task.completed", true),
        Status::Cancelled => ("canceled", "task.canceled", true),
        Status::Failed => ("failed", "task.failed", true),
        // A lost task never reported an end: it is not a success.
        Status::Lost => ("failed", "task.failed", false),
        Status::TimedOut => ("expired", "task.expired", true),
        Status::Archived => ("expired", "task.expired", false),
    };
    Word { status, frame, is_exact }
}
