//! Why a reader is refused.

use riverrun_event::{ErrorCode, Sequence};
use riverrun_log::Error;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Log(#[from] Error),
    #[error("the turn was not found")]
    NoTurn,
    #[error("the cursor is at {at}, the log ends at {head}")]
    CursorAhead { at: Sequence, head: Sequence },
    #[error("this cursor was made for another session; leave it out to start from the beginning")]
    CursorOfAnotherSession { field: &'static str },
    #[error("dialect `{dialect}` shows whole turns; leave out `task` and `types`, or use `native`")]
    WholeTurnsOnly { dialect: &'static str },
}

impl OpenError {
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
