//! What can go wrong, in one list.

use riverrun_log_sqlite::OpenLogError;
use riverrun_runner::CommandError;

/// Why a call on the library failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An agent cannot be used as it is defined.
    #[error("agent `{agent}`: {reason}")]
    Agent {
        /// The name of the agent.
        agent: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A provider cannot be used as it is configured.
    #[error("{0}")]
    Provider(String),
    /// A script for the built-in model cannot be read.
    #[error("script {0}")]
    Script(#[from] riverrun_provider::ScenarioError),
    /// The data directory cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenLogError),
    /// The runner refused a command.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The store failed.
    #[error("the store: {0}")]
    Store(String),
    /// There is no such run.
    #[error("there is no run of turn `{turn}` in session `{session}`")]
    NoRun {
        /// The session that was asked for.
        session: String,
        /// The turn that was asked for.
        turn: String,
    },
    /// The state of a run was written by another version.
    #[error("the run's state has version `{found}`; this version reads `{known}`", known = super::STATE_VERSION)]
    StateVersion {
        /// The version of the state.
        found: String,
    },
    /// The state of a run cannot be read.
    #[error("the run's state cannot be read: {0}")]
    State(String),
    /// The session exists with another history than the state of the run.
    #[error(
        "session `{0}` is here already with another history; resume in another store, or delete it first"
    )]
    StateConflict(String),
    /// The output does not have the form that was asked for.
    #[error("the output does not have the form that was asked for: {0}")]
    Output(serde_json::Error),
    /// The input list cannot be run.
    #[error("the input list cannot be run: {0}")]
    InputList(String),
    /// The input callback refused the conversation.
    #[error("the input callback refused the conversation: {0}")]
    InputCallback(String),
    /// The runtime was closed.
    #[error("the runtime was closed; the log has everything up to here")]
    Closed,
}

impl From<riverrun_log::LogError> for Error {
    fn from(error: riverrun_log::LogError) -> Self {
        match error {
            riverrun_log::LogError::Closed => Error::Closed,
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
