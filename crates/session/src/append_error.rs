//! Why a batch of events was not appended.

use riverrun_event::ErrorCode;
use riverrun_log::Error;

#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    #[error(transparent)]
    Log(#[from] Error),
    #[error("the batch is over the size of a chunk")]
    TooLarge,
    #[error("an event of {size} bytes has no strings that could be stored apart")]
    EventTooLarge { size: usize, limit: usize },
    /// The event at this place of the batch is about a turn that is run here.
    #[error(
        "`{kind}` is written by the server's runner, which runs what the event names; send it for turns of your own"
    )]
    RunnerOnly { index: usize, kind: String },
}

impl AppendError {
    pub fn code(&self) -> ErrorCode {
        match self {
            AppendError::Log(error) => error.code(),
            AppendError::TooLarge => ErrorCode::BodyTooLarge,
            AppendError::EventTooLarge { .. } => ErrorCode::EventTooLarge,
            AppendError::RunnerOnly { .. } => ErrorCode::RunnerOnly,
        }
    }
}
