//! One request on a connection of its own.

use std::time::Duration;

use http::{Request, Response};

use crate::address::ServerAddress;
use crate::connection::{HttpConnection, RequestBody, ResponseBody, Unanswered};
use crate::dial::{DialError, Transport};

/// Why a request got no answer. No text holds a header or a body: they may be secret.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// No connection: nothing was sent.
    #[error(transparent)]
    Dial(#[from] DialError),
    /// The connection ended before the answer began. What was asked for may have happened.
    #[error("{0}")]
    Broken(String),
    /// The answer did not begin in time. What was asked for may have happened.
    #[error("no answer within {} s", .0.as_secs_f64())]
    TimedOut(Duration),
}

impl From<Unanswered> for SendError {
    fn from(unanswered: Unanswered) -> Self {
        SendError::Broken(unanswered.reason)
    }
}

/// Sends one request on a new connection and waits for the head of its answer, at most `patience`.
///
/// The request's URI is its target on that server (`/path?query`), and it has its `Host` header. Redirects are answers
/// like others. Dropping the future or the body of the answer closes the socket.
pub async fn send(
    transport: &dyn Transport,
    to: &ServerAddress,
    request: Request<RequestBody>,
    patience: Option<Duration>,
) -> Result<Response<ResponseBody>, SendError> {
    let io = transport.dial(to).await?;
    let connection = HttpConnection::open(io).await.map_err(SendError::Broken)?;
    let answer = connection.send(request);
    match patience {
        None => Ok(answer.await?),
        Some(time) => match tokio::time::timeout(time, answer).await {
            Ok(answer) => Ok(answer?),
            Err(_) => Err(SendError::TimedOut(time)),
        },
    }
}
