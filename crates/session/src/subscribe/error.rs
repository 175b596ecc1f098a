//! Why a reader is refused.

use riverrun_event::{ErrorCode, Sequence};
use riverrun_log::LogError;

/// Why a stream was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The log could not be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The turn that was asked for does not exist.
    #[error("the turn was not found")]
    NoTurn,
    /// The cursor is ahead of the log.
    #[error("the cursor is at {at}, the log ends at {head}")]
    CursorAhead {
        /// Where the cursor is.
        at: Sequence,
        /// The last event of the log.
        head: Sequence,
    },
    /// The cursor was made for another session.
    #[error("this cursor was made for another session; leave it out to start from the beginning")]
    CursorOfAnotherSession {
        /// The parameter that held it.
        field: &'static str,
    },
    /// The dialect shows whole turns, and the request asks for a part of one.
    #[error("dialect `{dialect}` shows whole turns; leave out `task` and `types`, or use `native`")]
    WholeTurnsOnly {
        /// The dialect.
        dialect: &'static str,
    },
}

impl OpenError {
    /// The stable code of the error.
    pub fn code(&self) -> ErrorCode {
        match self {
            OpenError::Log(error) => error.code(),
            OpenError::NoTurn => ErrorCode::NotFound,
            OpenError::CursorAhead { .. } => ErrorCode::CursorAhead,
            OpenError::CursorOfAnotherSession { .. } => ErrorCode::CursorWrongSession,
            OpenError::WholeTurnsOnly { .. } => ErrorCode::InvalidField,
        }
    }
}

/// A pattern that cannot be the name of an event type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`types` is a list like `model.delta,item.*`: names of event types, or families with `.*`")]
pub struct InvalidPattern;
