//! Our statuses in the words that the standard's snapshot allows. Where a word differs, the original goes along.

use crate::status::Status;

/// A status of a thread.
pub fn thread_status(status: Status) -> &'static str {
    match status {
        Status::Idle => "idle",
        Status::Draft | Status::Accepted | Status::Queued => "queued",
        Status::Preparing | Status::Running | Status::Retrying | Status::Cancelling => "running",
        Status::WaitingInput | Status::WaitingPermission | Status::WaitingResource => "blocked",
        Status::Blocked | Status::Paused => "blocked",
        Status::Cancelled => "cancelled",
        Status::TimedOut | Status::Failed => "failed",
        Status::Completed => "completed",
        Status::Stale => "stale",
        Status::Unknown | Status::Lost | Status::Archived => "unknown",
    }
}

/// A status of an attempt.
pub fn attempt_status(status: Status) -> &'static str {
    match status {
        Status::Preparing => "preparing",
        Status::Retrying => "retrying",
        Status::Idle
        | Status::Draft
        | Status::Accepted
        | Status::Queued
        | Status::Running
        | Status::Cancelling
        | Status::WaitingInput
        | Status::WaitingPermission
        | Status::WaitingResource
        | Status::Blocked
        | Status::Paused
        | Status::Cancelled
        | Status::TimedOut
        | Status::Failed
        | Status::Completed
        | Status::Stale
        | Status::Unknown
        | Status::Lost
        | Status::Archived => thread_status(status),
    }
}

/// A status of a task: all of ours but one.
pub fn task_status(status: Status) -> &'static str {
    if status == Status::Idle { "unknown" } else { status.as_str() }
}

/// The original, where the standard's word is another.
pub fn native(status: Status, strict: &str) -> Option<&'static str> {
    Some(status.as_str()).filter(|native| *native != strict)
}
