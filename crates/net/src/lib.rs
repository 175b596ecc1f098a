//! Outgoing connections: HTTP and TLS, server-sent events, pauses between attempts, and the address guard.
//!
//! Everything in Riverrun that calls another server uses this crate: providers, HTTP and MCP tools, fetched files, and
//! the Rust client.
//!
//! ```text
//! BaseUrl ─▶ Transport ─▶ HTTP/1.1 on one connection ─▶ ResponseBody ─▶ SseParser ─▶ frames
//!            (Dialer:      (`send`: one request,         (dropping it
//!             guard, TLS)   ConnectionPool: many)         closes the socket)
//! ```
//!
//! - [`send`] makes one request on a connection of its own; a [`ConnectionPool`] uses connections to one server again.
//! - A [`Dialer`] opens connections. With an [`AddressGuard`] it connects only to addresses that were checked after
//!   the name was resolved, so a name cannot change between check and connection. A simulator brings its own
//!   [`Transport`].
//! - [`TlsConfig`] trusts the certificates of the system (`SSL_CERT_FILE`, `SSL_CERT_DIR`), or those of one file.
//! - [`SseParser`] reads `text/event-stream`, and [`Backoff`] counts the pauses between attempts.
//!
//! # What it is not
//!
//! It accepts no connections and contains no HTTP server. It follows no redirects, repeats no request that a server
//! may have seen, uses no proxy and decompresses nothing. It reads no clock except to limit a wait, has no randomness,
//! and writes no logs: headers and bodies may be secret, so no error text contains one.
//!
//! # Example
//!
//! ```
//! use std::time::Duration;
//!
//! use http::{Request, header};
//! use riverrun_net::{AddressGuard, BaseUrl, Dialer, full, send};
//! use tokio::io::{AsyncReadExt, AsyncWriteExt};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // A server on loopback, which a guard refuses unless it is named.
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
//! let base = BaseUrl::parse(&format!("http://{}/api", listener.local_addr()?))?;
//! tokio::spawn(async move {
//!     let (mut socket, _) = listener.accept().await?;
//!     socket.read(&mut [0; 1024]).await?;
//!     socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello").await
//! });
//!
//! let guard = AddressGuard { allow: vec!["127.0.0.1".to_owned()] };
//! let dialer = Dialer::new(Duration::from_secs(10)).with_guard(guard);
//! let request = Request::get(base.target("/greeting"))
//!     .header(header::HOST, base.address().host_header())
//!     .body(full(""))?;
//! let answer = send(&dialer, base.address(), request, Some(Duration::from_secs(60))).await?;
//! assert_eq!(answer.into_body().read(1024).await?, "hello");
//! # Ok(())
//! # }
//! ```

#![warn(missing_docs)]

mod address;
mod backoff;
mod connection;
mod dial;
mod guard;
mod pool;
mod redirect;
mod request;
mod sse;
mod tls;

pub use address::{BaseUrl, BaseUrlError, ServerAddress, redacted_url};
pub use backoff::Backoff;
pub use connection::{BodyError, RequestBody, ResponseBody, full};
pub use dial::{DialError, Dialer, Dialing, Io, Transport};
pub use guard::{AddressGuard, BlockedAddress, Unreachable, is_blocked};
pub use pool::ConnectionPool;
pub use redirect::redirect_target;
pub use request::{SendError, send};
pub use sse::{SseError, SseFrame, SseParser};
pub use tls::{TlsConfig, TlsError};
