//! Why an actor ends before its work does.

use crate::{CommandError, JournalError};

/// Why an actor ends before its work does. The log has everything; who comes next goes on from there.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum Stop {
    #[error("there is no such session")]
    NoSession,
    #[error("another server owns this session now")]
    Fenced,
    #[error("the server is going down")]
    Draining,
    #[error("the store is not available: {0}")]
    Unavailable(String),
    #[error("{0}")]
    Broken(String),
}

impl From<Stop> for CommandError {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::NoSession => CommandError::NoSession,
            Stop::Fenced => CommandError::Fenced,
            Stop::Draining => CommandError::Draining,
            Stop::Unavailable(reason) | Stop::Broken(reason) => CommandError::Unavailable(reason),
        }
    }
}

impl Stop {
    pub fn of(error: JournalError) -> Self {
        match error {
            JournalError::NoSession => Stop::NoSession,
            JournalError::Fenced => Stop::Fenced,
            JournalError::Unavailable(reason) => Stop::Unavailable(reason),
            JournalError::CommandExists => Stop::Broken("a command was stored twice".to_owned()),
            JournalError::Full => Stop::Unavailable("the store is full".to_owned()),
            JournalError::Quota { .. } => Stop::Unavailable(error.to_string()),
            JournalError::Invalid(reason) => Stop::Broken(reason),
        }
    }
}
