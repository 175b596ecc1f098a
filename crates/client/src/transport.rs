//! How bytes reach the server. The one place that opens sockets, so that a simulator can bring its own.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use crate::endpoint::Endpoint;

/// A byte stream in both directions.
pub trait Io: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

pub type Dialing = Pin<Box<dyn Future<Output = io::Result<Box<dyn Io>>> + Send>>;

/// Opens connections to one server.
///
/// Contract: every call gives a fresh connection or an error; it never gives one out twice, and it gives up in
/// bounded time.
pub trait Transport: Send + Sync {
    fn dial(&self, endpoint: &Endpoint) -> Dialing;
}

/// Plain TCP.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tcp;

const DIAL_TIMEOUT: Duration = Duration::from_secs(10);

impl Transport for Tcp {
    fn dial(&self, endpoint: &Endpoint) -> Dialing {
        let (host, port) = (endpoint.host().to_owned(), endpoint.port());
        Box::pin(async move {
            let connecting = TcpStream::connect((host.as_str(), port));
            let stream = tokio::time::timeout(DIAL_TIMEOUT, connecting)
                .await
                .map_err(|_| io::Error::new(io::ErrorKind::TimedOut, "no answer within 10 s"))??;
            // Small requests must not wait for the answer to the one before.
            stream.set_nodelay(true)?;
            Ok(Box::new(stream) as Box<dyn Io>)
        })
    }
}
