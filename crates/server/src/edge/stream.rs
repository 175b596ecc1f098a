//! Long answers: streams of frames that outlive the request that asked for them.
//!
//! They are written to the socket here, without hyper: an idle stream then costs its task, its socket and its body,
//! and frames that are shared between subscribers go from their one buffer to the kernel.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io::{self, IoSlice, Write};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, SystemTime};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_TYPE, DATE, TRANSFER_ENCODING};
use http::{HeaderValue, Version};
use http_body::Body as _;
use riverrun_log::seeded::{self, Bug};
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

use super::fault::ResetWhenCut;
use super::limits::Limits;
use super::negotiate::Media;

/// Marks an answer that takes over its connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Handover;

/// An answer that streams `body`. An error in the body cuts the connection without the last chunk, which is how
/// a reader learns that the stream is not complete. The request's own body must have been read by now.
pub fn stream_response(media: Media, body: Body) -> Response {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media.as_str()));
    response.extensions_mut().insert(Handover);
    response
}

/// Writes `response` to its end, or until the reader is gone. Returns the socket if it can serve another request:
/// the body ended with its last chunk and the client sent nothing meanwhile.
pub(super) async fn write(
    stream: TcpStream,
    version: Version,
    response: Response,
    limits: &Limits,
) -> io::Result<Option<TcpStream>> {
    let timing =
        Timing { dead: limits.dead_after.saturating_sub(limits.ping_every), stall: limits.stall_time };
    SockRef::from(&stream).set_tcp_user_timeout(Some(timing.dead))?;
    let chunked = version != Version::HTTP_10;
    if !chunked {
        // Without chunks the end of the connection is the end of the body. Until the body is complete, closing the
        // socket resets it, also when the process is killed, so that a cut is an error and not an end.
        SockRef::from(&stream).set_linger(Some(Duration::ZERO))?;
    }
    let resets = response.extensions().get::<ResetWhenCut>().is_some();
    let (head, body) = head_bytes(response, chunked);
    let mut writer = Writer {
        stream,
        body,
        pieces: VecDeque::from([Piece { size: SizeLine::default(), data: head, end: b"" }]),
        written: 0,
        queued: 0,
        chunked,
        ended: false,
        has_pipelined: false,
        stalled: None,
        timing,
    };
    let written = poll_fn(|context| writer.poll(context)).await;
    if written.is_err() && resets {
        SockRef::from(&writer.stream).set_linger(Some(Duration::ZERO))?;
    }
    written?;
    if chunked && !writer.has_pipelined {
        SockRef::from(&writer.stream).set_tcp_user_timeout(None)?;
        return Ok(Some(writer.stream));
    }
    if !chunked {
        SockRef::from(&writer.stream).set_linger(None)?;
    }
    close(writer.stream).await?;
    Ok(None)
}

/// Ends a connection whose last answer is complete.
pub(super) async fn close(mut stream: TcpStream) -> io::Result<()> {
    stream.shutdown().await?;
    linger(stream).await;
    Ok(())
}

/// Reads what a peer still sends, for a moment: closing a socket with unread bytes resets the connection, and the
/// reset can destroy an answer that the peer has not read yet.
pub(super) async fn linger(mut stream: TcpStream) {
    const TIME: Duration = Duration::from_secs(1);
    const BYTES: usize = 4 * 1024 * 1024;
    let drain = poll_fn(|context| {
        let mut seen = 0;
        while seen < BYTES {
            match ready!(discard(&mut stream, context)) {
                Ok(0) | Err(_) => break,
                Ok(count) => seen += count,
            }
        }
        Poll::Ready(())
    });
    // Whether the peer closed or the time ran out is the same to us.
    let _ = tokio::time::timeout(TIME, drain).await;
}

fn discard(stream: &mut TcpStream, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
    let mut space = [0; 512];
    let mut buffer = ReadBuf::new(&mut space);
    ready!(Pin::new(stream).poll_read(context, &mut buffer))?;
    Poll::Ready(Ok(buffer.filled().len()))
}

/// A chunked head never has `connection: close`: with it Node's fetch takes a body that was cut before its last chunk
/// for a complete one. A connection that is not used again is closed without announcement.
fn head_bytes(response: Response, chunked: bool) -> (Bytes, Body) {
    let (mut parts, body) = response.into_parts();
    parts.headers.remove(CONNECTION);
    if chunked {
        parts.headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
    }
    if !chunked || seeded::is_on(Bug::CloseHeaderOnStreams) {
        parts.headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    if let Ok(date) = HeaderValue::from_str(&httpdate::fmt_http_date(SystemTime::now())) {
        parts.headers.insert(DATE, date);
    }
    let version = if chunked { "HTTP/1.1" } else { "HTTP/1.0" };
    let reason = parts.status.canonical_reason().unwrap_or("");
    let mut head = format!("{version} {} {reason}\r\n", parts.status.as_u16()).into_bytes();
    for (name, value) in &parts.headers {
        head.extend_from_slice(name.as_str().as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
    (head.into(), body)
}

/// What is gathered before a write; it bounds the memory of a reader that does not read.
const GATHER: usize = 32 * 1024;
const MAX_SLICES: usize = 48;
/// Room that a stream keeps for the next frame.
const FEW_PIECES: usize = 4;

struct Timing {
    /// After which silence of the peer's kernel the connection is dead.
    dead: Duration,
    /// How long a peer that is alive may leave its window closed.
    stall: Duration,
}

struct Writer {
    stream: TcpStream,
    body: Body,
    pieces: VecDeque<Piece>,
    /// Bytes of the first piece that are out.
    written: usize,
    queued: usize,
    chunked: bool,
    ended: bool,
    /// The client sent bytes while the stream ran. They are lost, so the connection cannot be used again.
    has_pipelined: bool,
    stalled: Option<Pin<Box<Sleep>>>,
    timing: Timing,
}

/// One chunk on the wire: size line, data, line end. Each part may be empty.
struct Piece {
    size: SizeLine,
    data: Bytes,
    end: &'static [u8],
}

impl Piece {
    fn parts(&self) -> [&[u8]; 3] {
        [self.size.as_bytes(), &self.data, self.end]
    }

    fn len(&self) -> usize {
        self.parts().iter().map(|part| part.len()).sum()
    }
}

/// The line before a chunk: its length in hexadecimal digits. There is one for every frame, so it needs no memory of
/// its own.
#[derive(Default)]
struct SizeLine {
    bytes: [u8; 18],
    length: u8,
}

impl SizeLine {
    fn of(size: usize) -> Self {
        let mut bytes = [0; 18];
        let mut rest = &mut bytes[..];
        // 16 digits and the end of the line are the most that a length takes.
        let _ = write!(rest, "{size:x}\r\n");
        let length = 18 - rest.len() as u8;
        Self { bytes, length }
    }

    fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl Writer {
    /// Ready when the body ended and everything is written, or when the connection is lost.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let cut = self.gather(context).err();
            if self.pieces.is_empty() {
                return match cut {
                    Some(error) => Poll::Ready(Err(error)),
                    None if self.ended => Poll::Ready(Ok(())),
                    None => self.poll_reader(context),
                };
            }
            match self.write_pieces(context) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                // What a cut body leaves behind is of no use to the reader: it will come back with its cursor.
                Poll::Pending if cut.is_some() => {
                    return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
                }
                Poll::Pending => return self.poll_stall(context),
            }
            if let Some(error) = cut {
                while !self.pieces.is_empty() && self.write_pieces(context).is_ready() {}
                return Poll::Ready(Err(error));
            }
        }
    }

    /// Takes frames from the body until enough is at hand, it has none, or it is cut.
    fn gather(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        while !self.ended && self.queued < GATHER {
            match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Pending => return Ok(()),
                Poll::Ready(Some(Ok(frame))) => {
                    if let Ok(data) = frame.into_data() {
                        self.push(data);
                    }
                }
                Poll::Ready(Some(Err(_))) => return Err(io::ErrorKind::ConnectionAborted.into()),
                Poll::Ready(None) => {
                    self.ended = true;
                    if self.chunked {
                        self.pieces.push_back(Piece {
                            size: SizeLine::default(),
                            data: Bytes::new(),
                            end: b"0\r\n\r\n",
                        });
                    }
                }
            }
        }
        Ok(())
    }

    fn push(&mut self, data: Bytes) {
        // An empty chunk would end the body.
        if data.is_empty() {
            return;
        }
        let mut piece = Piece { size: SizeLine::default(), data, end: b"" };
        if self.chunked {
            (piece.size, piece.end) = (SizeLine::of(piece.data.len()), b"\r\n");
        }
        self.queued += piece.len();
        self.pieces.push_back(piece);
    }

    /// One write of as much as there is.
    fn write_pieces(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut slices = [IoSlice::new(&[]); MAX_SLICES];
        let mut count = 0;
        let mut skip = self.written;
        for part in self.pieces.iter().flat_map(Piece::parts) {
            let rest = &part[skip.min(part.len())..];
            skip -= part.len() - rest.len();
            if !rest.is_empty() && count < MAX_SLICES {
                slices[count] = IoSlice::new(rest);
                count += 1;
            }
            if count == MAX_SLICES {
                break;
            }
        }
        let written = ready!(Pin::new(&mut self.stream).poll_write_vectored(context, &slices[..count]))?;
        if written == 0 {
            return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
        }
        self.advance(written);
        Poll::Ready(Ok(()))
    }

    fn advance(&mut self, written: usize) {
        self.written += written;
        while let Some(first) = self.pieces.front() {
            let length = first.len();
            if self.written < length {
                break;
            }
            self.written -= length;
            self.queued = self.queued.saturating_sub(length);
            self.pieces.pop_front();
        }
        if self.pieces.is_empty() && self.pieces.capacity() > FEW_PIECES {
            // An idle stream keeps no large buffer.
            self.pieces = VecDeque::new();
        }
        if self.stalled.take().is_some() {
            // The socket may be gone by now; the next write tells.
            let _ = SockRef::from(&self.stream).set_tcp_user_timeout(Some(self.timing.dead));
        }
    }

    /// Idle: nothing to write. A reader that hangs up is noticed at once.
    fn poll_reader(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            match ready!(discard(&mut self.stream, context))? {
                0 => return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
                // Reading on is how a hang-up is noticed. A client that pipelines asks again after the close.
                _ => self.has_pipelined = true,
            }
        }
    }

    /// The socket takes no more. The kernel counts a window that stays closed as a dead peer, so its timer rests
    /// while a longer one of ours runs: a reader that pauses keeps its stream.
    fn poll_stall(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.stalled.is_none() {
            SockRef::from(&self.stream).set_tcp_user_timeout(None)?;
        }
        let stall = self.timing.stall;
        let timer = self.stalled.get_or_insert_with(|| Box::pin(sleep(stall)));
        ready!(timer.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}
