//! What can go wrong, in one list.

use riverrun_log_sqlite::OpenError;
use riverrun_runner::CommandError;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("agent `{agent}`: {reason}")]
    Agent { agent: String, reason: String },
    #[error("{0}")]
    Provider(String),
    #[error("script {0}")]
    Script(#[from] riverrun_provider::ScenarioError),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error("the store: {0}")]
    Store(String),
    #[error("there is no run of turn `{turn}` in session `{session}`")]
    NoRun { session: String, turn: String },
    #[error("the run's state has version `{found}`; this version reads `{known}`", known = super::STATE_VERSION)]
    StateVersion { found: String },
    #[error("the run's state cannot be read: {0}")]
    State(String),
    #[error(
        "session `{0}` is here already with another history; resume in another store, or delete it first"
    )]
    StateConflict(String),
    #[error("the output does not have the form that was asked for: {0}")]
    Output(serde_json::Error),
    #[error("the input list cannot be run: {0}")]
    InputList(String),
    #[error("the input callback refused the conversation: {0}")]
    InputCallback(String),
    #[error("the runtime was closed; the log has everything up to here")]
    Closed,
}

impl From<riverrun_log::Error> for Error {
    fn from(error: riverrun_log::Error) -> Self {
        match error {
            riverrun_log::Error::Closed => Error::Closed,
            error => Error::Store(error.to_string()),
        }
    }
}

impl From<riverrun_session::AppendError> for Error {
    fn from(error: riverrun_session::AppendError) -> Self {
        match error {
            riverrun_session::AppendError::Log(error) => error.into(),
            error => Error::Store(error.to_string()),
        }
    }
}
