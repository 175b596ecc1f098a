//! How the runner's answers are told to callers.

use riverrun_event::ErrorCode;
use riverrun_runner::CommandError;

use crate::app::App;
use crate::edge::{Problem, not_found, quota_exceeded};

/// What is asked of the runner, as the metrics name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    Submit,
    Cancel,
    Pause,
    Retry,
    Steer,
    Decide,
    Rule,
    Queue,
    Subagent,
    Process,
}

impl Asked {
    const fn as_str(self) -> &'static str {
        match self {
            Asked::Submit => "submit",
            Asked::Cancel => "cancel",
            Asked::Pause => "pause",
            Asked::Retry => "retry",
            Asked::Steer => "steer",
            Asked::Decide => "decide",
            Asked::Rule => "rule",
            Asked::Queue => "queue",
            Asked::Subagent => "subagent",
            Asked::Process => "process",
        }
    }
}

impl App {
    /// Counts what was asked, and makes an error of the runner one of the server.
    pub(crate) fn answered<T>(&self, asked: Asked, result: Result<T, CommandError>) -> Result<T, Problem> {
        let result = result.map_err(|error| problem(&error));
        let word = result.as_ref().map_or_else(|problem| problem.code().as_str(), |_| "ok");
        self.edge().metrics().commands.with(&[asked.as_str(), word]).increment();
        result
    }
}

pub(crate) fn problem(error: &CommandError) -> Problem {
    let code = code(error);
    match error {
        CommandError::NoSession => not_found(),
        CommandError::UnknownAgent { .. } => Problem::new(code, error.to_string()).field("agent"),
        CommandError::ArgumentsTooLarge { limit, .. } => {
            Problem::new(code, error.to_string()).field("arguments").limit(*limit as u64)
        }
        CommandError::Invalid { field, .. } => Problem::new(code, error.to_string()).field(field.clone()),
        CommandError::TurnEnded { status, .. }
        | CommandError::TurnRunning { status, .. }
        | CommandError::TooOld { status, .. } => {
            Problem::new(code, error.to_string()).with("turnStatus", status.clone())
        }
        CommandError::SubagentEnded { status, .. } => {
            Problem::new(code, error.to_string()).with("subagentStatus", status.clone())
        }
        CommandError::ProcessUnavailable { status, .. } => {
            Problem::new(code, error.to_string()).with("processStatus", status.clone())
        }
        CommandError::RequestMismatch => Problem::new(code, error.to_string()).field("Idempotency-Key"),
        CommandError::DigestMismatch | CommandError::ToolChanged(_) => {
            Problem::new(code, error.to_string()).field("digest")
        }
        CommandError::DecisionNotPossible { .. } => Problem::new(code, error.to_string()).field("decision"),
        CommandError::TurnExists { .. } => Problem::new(code, error.to_string()).field("turnId"),
        CommandError::Busy(_) => Problem::new(code, error.to_string()).field("busy"),
        // What failed inside is for the server's log, not for callers.
        CommandError::Unavailable(cause) => {
            tracing::warn!(cause, "the runner could not use the store");
            Problem::new(code, "the store is not available; try again")
        }
        CommandError::Quota { quota, limit, used } => quota_exceeded(quota, *limit, *used),
        CommandError::NoTask(_) => Problem::new(code, error.to_string()).field("parentTaskId"),
        CommandError::NoTurn(_)
        | CommandError::NoAction(_)
        | CommandError::NoRule(_)
        | CommandError::NoSubagent(_)
        | CommandError::NoProcess(_)
        | CommandError::ThreadAtWork(_)
        | CommandError::SubagentLimit(_)
        | CommandError::NotPausable { .. }
        | CommandError::QueueFull(_)
        | CommandError::Fenced
        | CommandError::Draining
        | CommandError::Full => Problem::new(code, error.to_string()),
    }
}

fn code(error: &CommandError) -> ErrorCode {
    match error {
        CommandError::NoSession
        | CommandError::NoTurn(_)
        | CommandError::NoAction(_)
        | CommandError::NoRule(_)
        | CommandError::NoTask(_)
        | CommandError::NoSubagent(_)
        | CommandError::NoProcess(_) => ErrorCode::NotFound,
        CommandError::ProcessUnavailable { .. } => ErrorCode::ProcessUnavailable,
        CommandError::NotPausable { .. } => ErrorCode::NotPausable,
        CommandError::SubagentLimit(_) => ErrorCode::SubagentLimit,
        CommandError::UnknownAgent { .. } => ErrorCode::UnknownAgent,
        CommandError::Busy(_) | CommandError::ThreadAtWork(_) => ErrorCode::ThreadBusy,
        CommandError::QueueFull(_) => ErrorCode::QueueFull,
        CommandError::TurnExists { .. } => ErrorCode::TurnExists,
        CommandError::TurnEnded { .. } | CommandError::TooOld { .. } | CommandError::SubagentEnded { .. } => {
            ErrorCode::TurnEnded
        }
        CommandError::TurnRunning { .. } => ErrorCode::TurnRunning,
        CommandError::RequestMismatch => ErrorCode::IdempotencyMismatch,
        CommandError::DigestMismatch | CommandError::ToolChanged(_) => ErrorCode::DigestMismatch,
        CommandError::DecisionNotPossible { .. } => ErrorCode::DecisionNotPossible,
        CommandError::Invalid { field, .. } if field.starts_with("arguments") => ErrorCode::ArgumentsInvalid,
        CommandError::ArgumentsTooLarge { .. } => ErrorCode::ArgumentsInvalid,
        CommandError::Invalid { .. } => ErrorCode::InvalidField,
        CommandError::Fenced => ErrorCode::NotOwner,
        CommandError::Draining => ErrorCode::Draining,
        CommandError::Full => ErrorCode::StorageFull,
        CommandError::Quota { .. } => ErrorCode::QuotaExceeded,
        CommandError::Unavailable(_) => ErrorCode::StorageFailed,
    }
}
