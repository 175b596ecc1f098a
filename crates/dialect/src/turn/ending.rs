//! How a turn ended, in words that foreign dialects have.

use riverrun_event::ErrorInfo;
use riverrun_fold::{Status, Turn};

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
}

impl Stop {
    /// Providers have many words for few things.
    pub(crate) fn parse(word: &str) -> Self {
        match word {
            "length" | "max_tokens" | "max_output_tokens" | "MAX_TOKENS" => Stop::Length,
            "content_filter" | "SAFETY" => Stop::Filter,
            "refusal" => Stop::Refusal,
            "stop_sequence" => Stop::Sequence,
            _ => Stop::End,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    Completed(Stop),
    Failed { error: ErrorInfo },
    Cancelled,
}

impl Ending {
    /// None while the turn is open.
    pub(crate) fn of(turn: &Turn, stop: Stop) -> Option<Self> {
        if !turn.status.is_terminal() {
            return None;
        }
        Some(match turn.status {
            Status::Completed => Ending::Completed(stop),
            Status::Cancelled => Ending::Cancelled,
            other => {
                let told = turn.error.clone();
                let unknown = || ErrorInfo {
                    message: format!("the turn ended as {}", other.as_str()),
                    ..ErrorInfo::default()
                };
                Ending::Failed { error: told.unwrap_or_else(unknown) }
            }
        })
    }
}

/// The kinds of failure that foreign protocols tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    InvalidRequest,
    RateLimit,
    Overloaded,
    Timeout,
    Server,
}

impl Cause {
    pub(crate) fn of(error: &ErrorInfo) -> Self {
        let words = [error.code.as_deref(), error.category.as_deref()];
        let says = |part: &str| words.iter().flatten().any(|word| word.contains(part));
        if says("rate_limit") || says("quota") {
            Cause::RateLimit
        } else if says("overload") || says("unavailable") {
            Cause::Overloaded
        } else if says("timeout") || says("timed_out") {
            Cause::Timeout
        } else if says("invalid") {
            Cause::InvalidRequest
        } else {
            Cause::Server
        }
    }

    /// The HTTP status for clients that did not ask for a stream.
    pub(crate) fn status(self) -> u16 {
        match self {
            Cause::InvalidRequest => 400,
            Cause::RateLimit => 429,
            Cause::Overloaded => 503,
            Cause::Timeout => 504,
            Cause::Server => 500,
        }
    }
}
