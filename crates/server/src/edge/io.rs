//! The socket of a connection, shared between hyper and us.
//!
//! hyper reads requests and writes short answers on it. A long answer takes the socket away from hyper, whose
//! buffers and state machine would otherwise cost each idle stream more than the stream itself.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};
use std::time::Duration;

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use super::scan::{HeadFacts, RequestScan};

/// One end that hyper holds, one that the connection's task holds.
#[derive(Clone)]
pub(super) struct SharedIo(Arc<Mutex<State>>);

pub(super) struct State {
    stream: Option<TcpStream>,
    /// Bytes were written and hyper has not yet said that they were the last.
    unflushed: bool,
    scan: RequestScan,
    /// Dropped with the last holder.
    _held: oneshot::Sender<()>,
}

impl SharedIo {
    /// The socket, and what resolves when nobody but the caller's task can use it any more.
    pub(super) fn new(stream: TcpStream) -> (Self, oneshot::Receiver<()>) {
        let (_held, released) = oneshot::channel();
        let state = State { stream: Some(stream), unflushed: false, scan: RequestScan::default(), _held };
        (Self(Arc::new(Mutex::new(state))), released)
    }

    /// True if a WebSocket took the connection over from hyper and holds it now.
    pub(super) fn is_upgraded(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// True if hyper has nothing of an earlier answer left to write.
    pub(super) fn is_flushed(&self) -> bool {
        !self.lock().unflushed
    }

    /// What was seen in the bytes of the next request's head, in the order in which requests are served. hyper drops a
    /// `Content-Length` beside a `Transfer-Encoding` and takes bare line feeds, so the bytes are the only witness.
    pub(super) fn next_head(&self) -> Option<HeadFacts> {
        self.lock().scan.next_head()
    }

    /// True if every request that was read is whole and nothing of another one was read.
    pub(super) fn is_between_requests(&self) -> bool {
        self.lock().scan.is_between_requests()
    }

    /// What is read from now on is no HTTP.
    pub(super) fn stop_scan(&self) {
        self.lock().scan.stop();
    }

    /// Takes the socket; hyper finds the connection closed from now on.
    pub(super) fn take(&self) -> Option<TcpStream> {
        self.lock().stream.take()
    }

    /// Closing resets the connection from now on.
    pub(super) fn reset_when_closed(&self) -> io::Result<()> {
        match &self.lock().stream {
            Some(stream) => SockRef::from(stream).set_linger(Some(Duration::ZERO)),
            None => Ok(()),
        }
    }

    pub(super) fn downgrade(&self) -> std::sync::Weak<Mutex<State>> {
        Arc::downgrade(&self.0)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(|poison| poison.into_inner())
    }
}

/// Closes the socket of an upgraded connection when the connection's task ends, also if it is cut at the end of a
/// drain.
pub(super) struct CloseOnDrop(pub(super) std::sync::Weak<Mutex<State>>);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        if let Some(state) = self.0.upgrade() {
            drop(SharedIo(state).take());
        }
    }
}

impl State {
    fn stream(&mut self) -> io::Result<Pin<&mut TcpStream>> {
        self.stream.as_mut().map(Pin::new).ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

impl AsyncRead for SharedIo {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut state = self.lock();
        let before = buffer.filled().len();
        let result = state.stream()?.poll_read(context, buffer);
        state.scan.look_at(&buffer.filled()[before..]);
        result
    }
}

impl AsyncWrite for SharedIo {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut state = self.lock();
        state.unflushed = true;
        state.stream()?.poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = self.lock();
        // hyper flushes only once its own buffer is empty.
        state.unflushed = false;
        state.stream()?.poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.lock().stream()?.poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut state = self.lock();
        state.unflushed = true;
        state.stream()?.poll_write_vectored(context, slices)
    }
}
