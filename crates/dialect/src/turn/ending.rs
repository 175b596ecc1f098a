//! How a turn ended, in words that foreign dialects have.

use riverrun_event::ErrorInfo;
use riverrun_fold::{Status, TurnState};

/// Why the last model call stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stop {
    #[default]
    End,
    Length,
    Filter,
    /// The model said no, in words.
    Refusal,
    Sequence,
    /// The service runs tools of its own and wants to be asked to go on.
    Pause,
}

impl Stop {
    /// Providers have many words for few things.
    pub(crate) fn parse(word: &str) -> Self {
        match word {
            "length" | "max_tokens" | "max_output_tokens" | "MAX_TOKENS" => Stop::Length,
            "content_filter" | "SAFETY" => Stop::Filter,
            "refusal" => Stop::Refusal,
            "stop_sequence" => Stop::Sequence,
            "pause_turn" => Stop::Pause,
            _ => Stop::End,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum TurnEnding {
    Completed(Stop),
    Failed { error: ErrorInfo },
    Cancelled,
}

impl TurnEnding {
    /// None while the turn is open.
    pub(crate) fn of(turn: &TurnState, stop: Stop) -> Option<Self> {
        if !turn.status.is_terminal() {
            return None;
        }
        Some(match turn.status {
            Status::Completed => TurnEnding::Completed(stop),
            Status::Cancelled => TurnEnding::Cancelled,
            other => {
                let error = turn.error.clone();
                let unknown = || ErrorInfo {
                    message: format!("the turn ended as {}", other.as_str()),
                    ..ErrorInfo::default()
                };
                TurnEnding::Failed { error: error.unwrap_or_else(unknown) }
            }
        })
    }
}

/// The kinds of failure that foreign protocols tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    InvalidRequest,
    ContextTooLong,
    ContentFilter,
    Authentication,
    ModelNotFound,
    RateLimit,
    Quota,
    Overloaded,
    Timeout,
    /// The service could not be reached, or broke off.
    Upstream,
    Server,
}

impl Cause {
    /// The category is a closed list of the runner's; a code may be anybody's, so it is asked only without one.
    pub(crate) fn of(error: &ErrorInfo) -> Self {
        let words = [error.category.as_deref(), error.code.as_deref()];
        words.into_iter().flatten().find_map(Self::named).unwrap_or(Cause::Server)
    }

    fn named(word: &str) -> Option<Self> {
        Some(match word {
            "invalid_request" | "invalid_request_error" | "invalid_prompt" | "invalid_input" => {
                Cause::InvalidRequest
            }
            "context_too_long" | "context_length_exceeded" => Cause::ContextTooLong,
            "content_filter" => Cause::ContentFilter,
            "authentication" | "authentication_error" | "permission_error" | "invalid_api_key" => {
                Cause::Authentication
            }
            "model_not_found" | "not_found_error" => Cause::ModelNotFound,
            "rate_limit" | "rate_limited" | "rate_limit_error" | "rate_limit_exceeded" => Cause::RateLimit,
            "quota" | "insufficient_quota" | "billing_error" | "quota_exceeded" => Cause::Quota,
            "overloaded" | "overloaded_error" | "unavailable" | "server_overloaded" => Cause::Overloaded,
            "timeout" | "timed_out" | "timeout_error" | "max_time_exceeded" => Cause::Timeout,
            "connection" | "truncated" | "protocol" => Cause::Upstream,
            "server_error" | "api_error" => Cause::Server,
            _ => return None,
        })
    }

    /// The HTTP status for clients that did not ask for a stream.
    pub(crate) fn status(self) -> u16 {
        match self {
            Cause::InvalidRequest | Cause::ContextTooLong | Cause::ContentFilter => 400,
            Cause::Authentication => 401,
            Cause::ModelNotFound => 404,
            Cause::RateLimit | Cause::Quota => 429,
            Cause::Server => 500,
            Cause::Upstream => 502,
            Cause::Overloaded => 503,
            Cause::Timeout => 504,
        }
    }

    /// OpenAI's word for it.
    pub(crate) fn code(self) -> &'static str {
        match self {
            Cause::InvalidRequest => "invalid_request",
            Cause::ContextTooLong => "context_length_exceeded",
            Cause::ContentFilter => "content_filter",
            Cause::Authentication => "invalid_api_key",
            Cause::ModelNotFound => "model_not_found",
            Cause::RateLimit => "rate_limit_exceeded",
            Cause::Quota => "insufficient_quota",
            Cause::Overloaded => "overloaded",
            Cause::Timeout => "timeout",
            Cause::Upstream => "upstream_error",
            Cause::Server => "server_error",
        }
    }
}
