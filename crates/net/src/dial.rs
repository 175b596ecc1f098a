//! How bytes reach a server. The one place that opens sockets, so that a simulator can bring its own.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::time::Duration;

use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::address::ServerAddress;
use crate::guard::{AddressGuard, BlockedAddress};
use crate::tls::{TlsConfig, TlsError};

/// A byte stream in both directions.
pub trait Io: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// A connection that is being opened. Dropping it gives up.
pub type Dialing<'a> = Pin<Box<dyn Future<Output = Result<Box<dyn Io>, DialError>> + Send + 'a>>;

/// Opens connections.
///
/// Contract: every call gives a fresh connection or an error; it never gives one out twice, and it gives up in
/// bounded time. For an address with TLS the stream carries the decrypted bytes.
pub trait Transport: Send + Sync {
    /// Connects to a server.
    fn dial<'a>(&'a self, to: &'a ServerAddress) -> Dialing<'a>;
}

/// Why no connection could be opened. Nothing was sent. The texts leave the server's name to the caller.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    /// The guard refuses the address.
    #[error(transparent)]
    Blocked(#[from] BlockedAddress),
    /// The name cannot be resolved, or nobody accepts the connection.
    #[error("{0}")]
    Connect(#[from] io::Error),
    /// The TLS handshake failed.
    #[error("TLS: {0}")]
    Tls(io::Error),
    /// The server's certificate is not trusted, not valid, or of another name.
    #[error("{0}")]
    Certificate(String),
    /// There is no TLS set-up on this side.
    #[error(transparent)]
    NoTls(#[from] TlsError),
    /// The time for connecting is over.
    #[error("no connection within {} s", .0.as_secs_f64())]
    TimedOut(Duration),
}

/// Connects by TCP, and by TLS for `https`.
#[derive(Debug, Clone)]
pub struct Dialer {
    limit: Duration,
    tls: Option<TlsConfig>,
    guard: Option<AddressGuard>,
}

impl Dialer {
    /// Each connection may take `limit`, with the resolution of the name and the TLS handshake. The system's
    /// certificates are trusted.
    pub fn new(limit: Duration) -> Self {
        Self { limit, tls: None, guard: None }
    }

    /// Trusts other certificates than the system's.
    pub fn with_tls(self, tls: TlsConfig) -> Self {
        Self { tls: Some(tls), ..self }
    }

    /// Connects only to addresses that the guard lets pass, and to no other than it has seen.
    pub fn with_guard(self, guard: AddressGuard) -> Self {
        Self { guard: Some(guard), ..self }
    }

    async fn connect(&self, to: &ServerAddress) -> Result<Box<dyn Io>, DialError> {
        let stream = match &self.guard {
            Some(guard) => TcpStream::connect(guard.resolve(to).await?.as_slice()).await?,
            None => TcpStream::connect((to.host(), to.port())).await?,
        };
        // Requests are small and answers are awaited: nothing is won by waiting for more bytes.
        stream.set_nodelay(true)?;
        match to.is_tls() {
            true => self.secure(to.host(), stream).await,
            false => Ok(Box::new(stream)),
        }
    }

    async fn secure(&self, host: &str, stream: TcpStream) -> Result<Box<dyn Io>, DialError> {
        let config = self.tls.clone().map_or_else(TlsConfig::platform, Ok)?.client_config();
        let name = ServerName::try_from(host.to_owned())
            .map_err(|error| DialError::Tls(io::Error::new(io::ErrorKind::InvalidInput, error)))?;
        let secured = TlsConnector::from(config).connect(name, stream).await.map_err(handshake_error)?;
        Ok(Box::new(secured))
    }
}

impl Transport for Dialer {
    fn dial<'a>(&'a self, to: &'a ServerAddress) -> Dialing<'a> {
        Box::pin(async move {
            let connecting = tokio::time::timeout(self.limit, self.connect(to));
            connecting.await.unwrap_or(Err(DialError::TimedOut(self.limit)))
        })
    }
}

fn handshake_error(error: io::Error) -> DialError {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
    match cause {
        Some(rustls::Error::InvalidCertificate(_)) => DialError::Certificate(error.to_string()),
        _ => DialError::Tls(error),
    }
}
