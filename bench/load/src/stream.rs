//! A subscription: server-sent events over a chunked body, cut into frames and little else.

use std::cell::RefCell;
use std::io::ErrorKind;
use std::net::IpAddr;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::connection::{Body, connect, head, refused};
use crate::error::MeasurementResult;
use crate::target::Target;

thread_local! {
    /// All subscriptions of a thread read into one buffer, so that an idle one holds none.
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; 256 * 1024]);
}

pub struct StreamReader {
    socket: TcpStream,
    chunks: Chunks,
    /// Bytes of the body that are not yet a whole frame.
    pending: Vec<u8>,
}

/// One frame without its empty line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamFrame<'a> {
    Event(&'a [u8]),
    /// A frame about the stream itself, or a comment.
    Control(&'a [u8]),
}

impl StreamReader {
    /// Sends `request` and returns once the server has answered with a stream.
    pub async fn open(target: &Target, request: &[u8], source: Option<IpAddr>) -> MeasurementResult<Self> {
        let mut socket = connect(target.address, source).await?;
        socket.write_all(request).await?;
        let mut bytes = Vec::new();
        let head = loop {
            read(&socket, |part| bytes.extend_from_slice(part)).await?;
            if let Some(head) = head(&bytes)? {
                break head;
            }
        };
        let body = bytes.split_off(head.length);
        if head.status != 200 {
            return Err(refused(request, head.status, &body));
        }
        let mut subscription = Self { socket, chunks: Chunks::new(head.body), pending: Vec::new() };
        subscription.chunks.take(&body, &mut subscription.pending);
        Ok(subscription)
    }

    /// Waits for bytes and hands every frame that is now whole to `each`.
    pub async fn frames(&mut self, mut each: impl FnMut(StreamFrame<'_>)) -> MeasurementResult<()> {
        // The first frames may have come with the head.
        if frames(&mut self.pending, &mut each) > 0 {
            return Ok(());
        }
        let Self { socket, chunks, pending } = self;
        read(socket, |part| chunks.take(part, pending)).await?;
        frames(pending, &mut each);
        Ok(())
    }
}

impl StreamFrame<'_> {
    /// The sequence that the frame's id begins with.
    pub fn sequence(&self) -> Option<u64> {
        let StreamFrame::Event(bytes) = self else { return None };
        let digits = bytes.strip_prefix(b"id:")?.trim_ascii_start();
        let end = digits.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(digits.len());
        std::str::from_utf8(&digits[..end]).ok()?.parse().ok()
    }
}

/// Hands the whole frames at the start of `pending` to `each`, and keeps what follows them.
fn frames(pending: &mut Vec<u8>, each: &mut impl FnMut(StreamFrame<'_>)) -> usize {
    let (mut start, mut count) = (0, 0);
    for end in memchr::memmem::find_iter(pending, b"\n\n") {
        let frame = &pending[start..end];
        let is_event = frame.starts_with(b"id:") || frame.starts_with(b"data:");
        each(if is_event { StreamFrame::Event(frame) } else { StreamFrame::Control(frame) });
        start = end + 2;
        count += 1;
    }
    if start == pending.len() {
        pending.clear();
    } else {
        pending.drain(..start);
    }
    count
}

async fn read(socket: &TcpStream, mut take: impl FnMut(&[u8])) -> MeasurementResult<()> {
    loop {
        socket.readable().await?;
        let read: std::io::Result<usize> = BUFFER.with_borrow_mut(|buffer| {
            let length = socket.try_read(buffer)?;
            take(&buffer[..length]);
            Ok(length)
        });
        match read {
            Ok(0) => return Err(std::io::Error::from(ErrorKind::UnexpectedEof).into()),
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Takes the chunk sizes out of a chunked body.
struct Chunks {
    state: State,
}

#[derive(Clone, Copy)]
enum State {
    /// The body is not chunked.
    Plain,
    /// In a size line; the digits so far.
    Size(usize),
    /// In a chunk; bytes left of it.
    Data(usize),
    /// In the line end after a chunk.
    End,
}

impl Chunks {
    fn new(body: Body) -> Self {
        match body {
            Body::Chunked => Self { state: State::Size(0) },
            Body::Sized(_) => Self { state: State::Plain },
        }
    }

    fn take(&mut self, mut bytes: &[u8], body: &mut Vec<u8>) {
        while let Some((&byte, after)) = bytes.split_first() {
            match self.state {
                State::Plain => return body.extend_from_slice(bytes),
                State::Data(left) => {
                    let (data, after) = bytes.split_at(left.min(bytes.len()));
                    body.extend_from_slice(data);
                    bytes = after;
                    self.state = if data.len() == left { State::End } else { State::Data(left - data.len()) };
                    continue;
                }
                State::Size(size) if byte == b'\n' => self.state = State::Data(size),
                State::Size(size) => {
                    let digit = char::from(byte).to_digit(16);
                    self.state = State::Size(digit.map_or(size, |digit| size << 4 | digit as usize));
                }
                State::End if byte == b'\n' => self.state = State::Size(0),
                State::End => {}
            }
            bytes = after;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_survive_any_cut_of_the_chunked_body() {
        let body =
            b"e\r\nid: 7\ndata: {}\r\n2\r\n\n\n\r\n1b\r\nevent: riverrun\ndata: {}\n\n: \r\n2\r\n\n\n\r\n";
        for cut in 0..body.len() {
            let (mut chunks, mut pending, mut found) = (Chunks::new(Body::Chunked), Vec::new(), Vec::new());
            for part in [&body[..cut], &body[cut..]] {
                chunks.take(part, &mut pending);
                frames(&mut pending, &mut |frame| {
                    found.push((frame.sequence(), format!("{frame:?}").starts_with("Event")))
                });
            }
            assert_eq!(found, [(Some(7), true), (None, false), (None, false)], "cut at {cut}");
        }
    }
}
