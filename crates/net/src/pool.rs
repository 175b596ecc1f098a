//! Connections to one server that are used again.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::{Request, Response};

use crate::address::ServerAddress;
use crate::connection::{HttpConnection, RequestBody, ResponseBody};
use crate::dial::{Dialing, Transport};
use crate::request::SendError;

/// Idle connections beyond this are closed.
const MAX_IDLE: usize = 8;

/// Sends requests to one server, one at a time on each connection.
pub struct ConnectionPool {
    address: ServerAddress,
    transport: Box<dyn Transport>,
    patience: Duration,
    idle: Mutex<Vec<HttpConnection>>,
}

impl ConnectionPool {
    /// A pool without connections. The head of each answer may take `patience`.
    pub fn new(address: ServerAddress, transport: Box<dyn Transport>, patience: Duration) -> Self {
        Self { address, transport, patience, idle: Mutex::new(Vec::new()) }
    }

    /// A new connection for another protocol than HTTP.
    pub fn dial(&self) -> Dialing<'_> {
        self.transport.dial(&self.address)
    }

    /// Sends a request and waits for the head of its answer. A request that a server did not take because it had
    /// closed the idle connection is sent again.
    pub async fn send(&self, mut request: Request<RequestBody>) -> Result<Response<ResponseBody>, SendError> {
        let mut idle = self.take_idle();
        loop {
            let (mut connection, reused) = match idle.take() {
                Some(connection) => (connection, true),
                None => (self.connect().await?, false),
            };
            match self.within(connection.ready()).await? {
                Ok(()) => {}
                Err(_) if reused => continue,
                Err(closed) => return Err(SendError::Broken(closed)),
            }
            match self.within(connection.send(request)).await? {
                Ok(response) => return Ok(response),
                Err(mut unanswered) => match unanswered.unsent.take() {
                    Some(unsent) if reused => request = unsent,
                    Some(_) | None => return Err(unanswered.into()),
                },
            }
        }
    }

    /// Gives back the connection of an answer that was read to its end. Without this it closes with the body.
    pub fn reuse(&self, body: ResponseBody) {
        let connection = body.into_connection();
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MAX_IDLE && !connection.is_closed() {
            idle.push(connection);
        }
    }

    async fn connect(&self) -> Result<HttpConnection, SendError> {
        let io = self.dial().await?;
        Ok(HttpConnection::open(io).await.map_err(SendError::Broken)?.in_background())
    }

    async fn within<T>(&self, work: impl Future<Output = T>) -> Result<T, SendError> {
        tokio::time::timeout(self.patience, work).await.map_err(|_| SendError::TimedOut(self.patience))
    }

    fn take_idle(&self) -> Option<HttpConnection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|connection| !connection.is_closed());
        // One that is not ready still writes its last request in the background.
        let at = idle.iter().rposition(HttpConnection::is_ready)?;
        Some(idle.swap_remove(at))
    }
}
