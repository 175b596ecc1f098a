//! Why a batch of events was not appended.

use riverrun_event::ErrorCode;
use riverrun_log::LogError;

/// Why events were not appended.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// The log refused them.
    #[error(transparent)]
    Log(#[from] LogError),
    /// All events together are larger than a chunk may be.
    #[error("the batch is over the size of a chunk")]
    TooLarge,
    /// One event is over the limit, and its texts cannot be moved to blobs.
    #[error("an event of {size} bytes has no strings that could be stored apart")]
    EventTooLarge {
        /// Its bytes.
        size: usize,
        /// The most that an event may have.
        limit: usize,
    },
    /// The event at this place of the batch is about a turn that is run here.
    #[error(
        "`{kind}` is written by the server's runner, which runs what the event names; send it for turns of your own"
    )]
    RunnerOnly {
        /// The position of the event in the batch.
        index: usize,
        /// The type of the event.
        kind: String,
    },
}

impl AppendError {
    /// The stable code of the error.
    pub fn code(&self) -> ErrorCode {
        match self {
            AppendError::Log(error) => error.code(),
            AppendError::TooLarge => ErrorCode::BodyTooLarge,
            AppendError::EventTooLarge { .. } => ErrorCode::EventTooLarge,
            AppendError::RunnerOnly { .. } => ErrorCode::RunnerOnly,
        }
    }
}
