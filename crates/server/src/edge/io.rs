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

/// One end that hyper holds, one that the connection's task holds.
#[derive(Clone)]
pub(super) struct SharedIo(Arc<Mutex<State>>);

pub(super) struct State {
    stream: Option<TcpStream>,
    /// Bytes were written and hyper has not yet said that they were the last.
    unflushed: bool,
    head: HeadScan,
    /// Dropped with the last holder.
    _held: oneshot::Sender<()>,
}

impl SharedIo {
    /// The socket, and what resolves when nobody but the caller's task can use it any more.
    pub(super) fn new(stream: TcpStream) -> (Self, oneshot::Receiver<()>) {
        let (_held, released) = oneshot::channel();
        let state = State { stream: Some(stream), unflushed: false, head: HeadScan::default(), _held };
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

    /// True if the head that was read last names a length. hyper drops a `Content-Length` that stands beside a
    /// `Transfer-Encoding` without a word, so this is the only way to learn of the conflict.
    pub(super) fn head_names_length(&self) -> bool {
        self.lock().head.names_length
    }

    /// True if exactly this many bytes were read behind the head that was read last: the request's body, and nothing
    /// of a next request.
    pub(super) fn has_read_behind_head(&self, bytes: u64) -> bool {
        let head = &self.lock().head;
        head.ended && head.behind == bytes
    }

    /// What is read from now on is the next request.
    pub(super) fn expect_head(&self) {
        self.lock().head = HeadScan::default();
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
        state.head.look_at(&buffer.filled()[before..]);
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

/// Watches the bytes of a request's head go by.
#[derive(Debug, Default)]
struct HeadScan {
    names_length: bool,
    ended: bool,
    /// Bytes that were read behind the head.
    behind: u64,
    /// Bytes of the line so far.
    column: usize,
    /// True while the line so far is a beginning of the name.
    matches: bool,
}

impl HeadScan {
    const NAME: &[u8] = b"content-length";

    fn look_at(&mut self, mut bytes: &[u8]) {
        while !self.ended
            && let Some((byte, rest)) = bytes.split_first()
        {
            self.step(*byte);
            // The rest of a line that is something else is of no interest.
            let line_end = if self.matches { None } else { memchr::memchr(b'\n', rest) };
            bytes = match line_end {
                Some(at) => &rest[at..],
                None if self.matches => rest,
                None => return,
            };
        }
        if self.ended {
            self.behind += bytes.len() as u64;
        }
    }

    fn step(&mut self, byte: u8) {
        match byte {
            b'\n' => {
                self.ended = self.column == 0;
                (self.column, self.matches) = (0, true);
            }
            b'\r' => {}
            _ => {
                let end_of_name = self.column == Self::NAME.len() && byte == b':';
                self.names_length |= self.matches && end_of_name;
                self.matches &=
                    Self::NAME.get(self.column).is_some_and(|name| byte.eq_ignore_ascii_case(name));
                self.column += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::HeadScan;

    #[test]
    fn only_a_header_line_of_the_head_counts() {
        for (text, expected) in [
            ("GET / HTTP/1.1\r\nhost: x\r\nContent-Length: 1\r\n\r\n", true),
            ("GET / HTTP/1.1\r\nhost: x\r\n\r\ncontent-length: 1\r\n", false),
            ("GET / HTTP/1.1\r\nx-content-length: 1\r\n\r\n", false),
            ("GET / HTTP/1.1\r\ncontent-lengths: 1\r\n\r\n", false),
        ] {
            let mut whole = HeadScan::default();
            whole.look_at(text.as_bytes());
            let mut split = HeadScan::default();
            text.bytes().for_each(|byte| split.look_at(&[byte]));
            assert_eq!((whole.names_length, split.names_length), (expected, expected), "{text:?}");
            let behind = text.split_once("\r\n\r\n").map(|(_, behind)| behind.len() as u64);
            assert_eq!((Some(whole.behind), Some(split.behind)), (behind, behind), "{text:?}");
        }
    }
}
