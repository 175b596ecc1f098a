use std::net::SocketAddr;
use std::path::PathBuf;

/// What can go wrong while a server is measured; a measurement that fails gives no number.
#[derive(Debug, thiserror::Error)]
pub enum MeasurementError {
    #[error("cannot connect to {address}: {source}")]
    Connect { address: SocketAddr, source: std::io::Error },
    #[error("connection broke: {0}")]
    Io(#[from] std::io::Error),
    #[error("`{request}` answered {status}: {body}")]
    Refused { request: String, status: u16, body: String },
    #[error("answer is not HTTP/1.1: `{0}`")]
    Malformed(String),
    #[error("{what} did not end within {seconds} s")]
    Timeout { what: &'static str, seconds: u64 },
    #[error("{got} events where {expected} were expected")]
    Missing { expected: u64, got: u64 },
    #[error("server `{}` did not start: {reason}", program.display())]
    Start { program: PathBuf, reason: String },
    #[error("task of the generator failed: {0}")]
    Task(#[from] tokio::task::JoinError),
}

pub type MeasurementResult<T> = std::result::Result<T, MeasurementError>;
