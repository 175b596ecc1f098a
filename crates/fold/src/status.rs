//! The status of sessions, threads, turns and tasks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The standard's status words, in one list for sessions, threads, turns and tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// No event has set it.
    #[default]
    Unknown,
    Idle,
    Draft,
    Accepted,
    Queued,
    Preparing,
    Running,
    WaitingInput,
    WaitingPermission,
    WaitingResource,
    Blocked,
    Paused,
    Retrying,
    Cancelling,
    Cancelled,
    TimedOut,
    Failed,
    Lost,
    Completed,
    Archived,
    Stale,
}

impl Status {
    pub fn is_terminal(self) -> bool {
        match self {
            Status::Cancelled
            | Status::TimedOut
            | Status::Failed
            | Status::Lost
            | Status::Completed
            | Status::Archived => true,
            Status::Unknown
            | Status::Idle
            | Status::Draft
            | Status::Accepted
            | Status::Queued
            | Status::Preparing
            | Status::Running
            | Status::WaitingInput
            | Status::WaitingPermission
            | Status::WaitingResource
            | Status::Blocked
            | Status::Paused
            | Status::Retrying
            | Status::Cancelling
            | Status::Stale => false,
        }
    }

    pub fn is_waiting(self) -> bool {
        matches!(self, Status::WaitingInput | Status::WaitingPermission | Status::WaitingResource)
    }

    /// The wire's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Unknown => "unknown",
            Status::Idle => "idle",
            Status::Draft => "draft",
            Status::Accepted => "accepted",
            Status::Queued => "queued",
            Status::Preparing => "preparing",
            Status::Running => "running",
            Status::WaitingInput => "waiting_input",
            Status::WaitingPermission => "waiting_permission",
            Status::WaitingResource => "waiting_resource",
            Status::Blocked => "blocked",
            Status::Paused => "paused",
            Status::Retrying => "retrying",
            Status::Cancelling => "cancelling",
            Status::Cancelled => "cancelled",
            Status::TimedOut => "timed_out",
            Status::Failed => "failed",
            Status::Lost => "lost",
            Status::Completed => "completed",
            Status::Archived => "archived",
            Status::Stale => "stale",
        }
    }

    /// None for a word that is not in the list.
    pub fn parse(word: &str) -> Option<Self> {
        serde_json::from_value(serde_json::Value::String(word.to_owned())).ok()
    }
}
