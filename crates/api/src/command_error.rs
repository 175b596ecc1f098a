//! Errors of the runner as errors of the API.

use riverrun_event::ErrorCode;
use riverrun_runner::CommandError;

use crate::{ApiError, not_found, quota_exceeded};

impl From<&CommandError> for ApiError {
    fn from(error: &CommandError) -> Self {
        describe(error)
    }
}

fn describe(error: &CommandError) -> ApiError {
    let code = code(error);
    match error {
        CommandError::NoSession => not_found(),
        CommandError::UnknownAgent { .. } => ApiError::new(code, error.to_string()).field("agent"),
        CommandError::ArgumentsTooLarge { limit, .. } => {
            ApiError::new(code, error.to_string()).field("arguments").limit(*limit as u64)
        }
        CommandError::Invalid { field, .. } => ApiError::new(code, error.to_string()).field(field.clone()),
        CommandError::TurnEnded { status, .. }
        | CommandError::TurnRunning { status, .. }
        | CommandError::TooOld { status, .. } => {
            ApiError::new(code, error.to_string()).with("turnStatus", status.clone())
        }
        CommandError::SubagentEnded { status, .. } => {
            ApiError::new(code, error.to_string()).with("subagentStatus", status.clone())
        }
        CommandError::ProcessUnavailable { status, .. } => {
            ApiError::new(code, error.to_string()).with("processStatus", status.clone())
        }
        CommandError::RequestMismatch => ApiError::new(code, error.to_string()).field("Idempotency-Key"),
        CommandError::DigestMismatch | CommandError::ToolChanged(_) => {
            ApiError::new(code, error.to_string()).field("digest")
        }
        CommandError::DecisionNotPossible { .. } => ApiError::new(code, error.to_string()).field("decision"),
        CommandError::TurnExists { .. } => ApiError::new(code, error.to_string()).field("turnId"),
        CommandError::Busy(_) => ApiError::new(code, error.to_string()).field("busy"),
        // What failed inside is for the server's log, not for callers.
        CommandError::Unavailable(cause) => {
            tracing::warn!(cause, "the runner could not use the store");
            ApiError::new(code, "the store is not available; try again")
        }
        CommandError::Quota { quota, limit, used } => quota_exceeded(quota, *limit, *used),
        CommandError::NoTask(_) => ApiError::new(code, error.to_string()).field("parentTaskId"),
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
        | CommandError::Full => ApiError::new(code, error.to_string()),
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
