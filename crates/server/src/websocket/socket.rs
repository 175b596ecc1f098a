//! One open WebSocket.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use riverrun_log::seeded::{self, Bug};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::time::{Instant, timeout};

use super::close::Close;
use super::output::{Output, Passing};
use super::reader::{Bounds, Heard, Reader};
use super::vigil::End;
use crate::edge::{Fault, FaultKind, Reservation};

/// Pings that a peer may send in a second.
const PINGS_PER_SECOND: u32 = 10;
/// Pongs that a peer may send in a second. The server itself pings every few seconds.
const PONGS_PER_SECOND: u32 = 64;
/// Frames that carry next to nothing: empty ones, and tiny fragments. One message may have a thousand of them.
const TINY_FRAMES_PER_SECOND: u32 = 2_048;
const READ_BYTES: usize = 8 * 1024;

/// The connection ended without a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost;

pub struct Socket<T> {
    io: T,
    reader: Reader,
    /// The memory of messages, counted with request bodies. None until the peer is known: a stranger's are short.
    room: Option<Reservation>,
    /// Bytes of complete messages that wait for their turn.
    waiting: usize,
    /// Bytes that were read, and how many of them were looked at.
    unread: Vec<u8>,
    at: usize,
    pub output: Output,
    heard: Instant,
    pings: Window,
    pongs: Window,
    tiny: Window,
}

/// How much came since when, and how much may come in a second.
struct Window {
    since: Instant,
    count: u32,
    most: u32,
}

impl<T: AsyncRead + AsyncWrite + Unpin> Socket<T> {
    /// `fault` is what shall go wrong, if a caller asked for it.
    pub fn new(io: T, bounds: Bounds, fault: Option<Fault>) -> Self {
        let now = Instant::now();
        Self {
            io,
            reader: Reader::new(bounds),
            room: None,
            waiting: 0,
            unread: Vec::new(),
            at: 0,
            output: Output::new(fault),
            heard: now,
            pings: Window::new(now, PINGS_PER_SECOND),
            pongs: Window::new(now, PONGS_PER_SECOND),
            tiny: Window::new(now, TINY_FRAMES_PER_SECOND),
        }
    }

    pub fn set_bounds(&mut self, bounds: Bounds) {
        self.reader.bounds = bounds;
    }

    /// From now on the memory of messages is counted here.
    pub fn set_room(&mut self, room: Reservation) {
        self.room = Some(room);
    }

    /// Complete messages that wait have so many bytes.
    pub fn set_waiting(&mut self, bytes: usize) {
        self.waiting = bytes;
        // Less than before always has room, and no more waits than was counted while it was read.
        let _ = self.reserve();
    }

    fn reserve(&mut self) -> Result<(), Close> {
        let bytes = self.waiting + self.reader.held();
        if seeded::is_on(Bug::UncountedMessages) {
            return Ok(());
        }
        self.room.as_mut().map_or(Ok(()), |room| room.set(bytes)).map_err(|_| Close::NoRoom)
    }

    /// When the peer last showed that it lives.
    pub fn heard(&self) -> Instant {
        // Who is told nothing more has nothing to answer.
        if self.output.passing() == Passing::Over(FaultKind::Stall) { Instant::now() } else { self.heard }
    }

    /// Nobody listened, so silence proves nothing.
    pub fn excuse_silence(&mut self) {
        self.heard = Instant::now();
    }

    /// The next text message. Pings are answered on the way. An error is the end: say `close` or drop it.
    pub fn poll_text(&mut self, context: &mut Context<'_>) -> Poll<Result<Result<String, Close>, Lost>> {
        loop {
            if self.at == self.unread.len() {
                match ready!(self.poll_read(context)) {
                    Ok(true) => {}
                    Ok(false) | Err(_) => return Poll::Ready(Err(Lost)),
                }
            }
            let heard = match self.reader.take(&self.unread[self.at..]) {
                Ok((taken, heard)) => {
                    self.at += taken;
                    heard
                }
                Err(close) => return Poll::Ready(Ok(Err(close))),
            };
            if heard.is_none()
                && let Err(close) = self.reserve()
            {
                return Poll::Ready(Ok(Err(close)));
            }
            let tiny = self.reader.take_tiny_frames();
            if tiny > 0 && !self.tiny.takes(tiny) {
                return Poll::Ready(Ok(Err(Close::FrameFlood)));
            }
            match heard {
                None => {}
                Some(Heard::Pong) if self.pongs.takes(1) => {}
                Some(Heard::Pong) => return Poll::Ready(Ok(Err(Close::FrameFlood))),
                Some(Heard::Text(text)) => return Poll::Ready(Ok(Ok(text))),
                Some(Heard::Close(code)) => return Poll::Ready(Ok(Err(Close::Echo(code)))),
                Some(Heard::Ping(payload)) if self.pings.takes(1) => self.output.pong(&payload),
                Some(Heard::Ping(_)) => return Poll::Ready(Ok(Err(Close::FrameFlood))),
            }
        }
    }

    /// Reads what is there. False at the end of the connection. Nothing is kept while nothing comes.
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<std::io::Result<bool>> {
        (self.unread, self.at) = (Vec::new(), 0);
        let mut space = [0; READ_BYTES];
        let mut buffer = ReadBuf::new(&mut space);
        ready!(Pin::new(&mut self.io).poll_read(context, &mut buffer))?;
        self.unread = buffer.filled().to_vec();
        self.heard = Instant::now();
        Poll::Ready(Ok(!self.unread.is_empty()))
    }

    /// Ready when everything is out, or when what is out is all that the fault lets pass.
    pub fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<Result<(), End>> {
        ready!(self.poll_write(context))?;
        Poll::Ready(match self.output.passing() {
            Passing::Open | Passing::Over(FaultKind::Stall) => Ok(()),
            Passing::Over(FaultKind::Drop | FaultKind::Reset) => Err(End::Lost),
            Passing::Over(FaultKind::End) => Err(End::Close(Close::Asked)),
        })
    }

    fn poll_write(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Lost>> {
        while self.output.queued() > 0 {
            match ready!(Pin::new(&mut self.io).poll_write(context, self.output.rest())) {
                Ok(count) if count > 0 => self.output.took(count),
                Ok(_) | Err(_) => return Poll::Ready(Err(Lost)),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Says why, and gives the peer a moment to read it: closing a socket with unread bytes would reset the
    /// connection, and the reset can destroy the last words.
    pub async fn close(mut self, close: Close) {
        const FLUSH: Duration = Duration::from_secs(5);
        const LINGER: Duration = Duration::from_secs(1);
        self.output.close(close);
        let flushed = timeout(FLUSH, poll_fn(|context| self.poll_write(context))).await;
        if flushed != Ok(Ok(())) || self.io.shutdown().await.is_err() {
            return;
        }
        let gone = poll_fn(|context| {
            while let Ok(true) = ready!(self.poll_read(context)) {}
            Poll::Ready(())
        });
        // Whether the peer closed or the time ran out is the same to us.
        let _ = timeout(LINGER, gone).await;
    }
}

impl Window {
    fn new(since: Instant, most: u32) -> Self {
        Self { since, count: 0, most }
    }

    fn takes(&mut self, count: u32) -> bool {
        let now = Instant::now();
        if now.duration_since(self.since) >= Duration::from_secs(1) {
            (self.since, self.count) = (now, 0);
        }
        self.count = self.count.saturating_add(count);
        self.count <= self.most || seeded::is_on(Bug::NoFrameLimit)
    }
}
