//! A keep-alive HTTP/1.1 connection that reads as little of an answer as it can.

use std::net::{IpAddr, SocketAddr};

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::error::{MeasurementError, MeasurementResult};
use crate::target::Target;

/// An answer longer than this is not one that the generator asked for.
const LONGEST_ANSWER: usize = 16 << 20;

pub struct ServerConnection {
    socket: TcpStream,
    buffer: BytesMut,
    /// Bytes of the answer that was handed out last.
    answered: usize,
}

/// The head of an answer.
pub struct ResponseHead {
    pub status: u16,
    /// Bytes up to and with the empty line.
    pub length: usize,
    pub body: Body,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    Sized(usize),
    Chunked,
}

impl ServerConnection {
    pub async fn open(target: &Target) -> MeasurementResult<Self> {
        Ok(Self { socket: connect(target.address, None).await?, buffer: BytesMut::new(), answered: 0 })
    }

    /// Sends one request and returns the body of its answer, or an error for a status over 299.
    pub async fn exchange(&mut self, request: &[u8]) -> MeasurementResult<&[u8]> {
        self.buffer.advance(self.answered);
        self.answered = 0;
        self.socket.write_all(request).await?;
        loop {
            if let Some((head, end)) = complete(&self.buffer)? {
                self.answered = end;
                let body = &self.buffer[head.length..end];
                return match head.status {
                    200..300 => Ok(body),
                    status => Err(refused(request, status, body)),
                };
            }
            if self.buffer.len() > LONGEST_ANSWER {
                return Err(malformed(&self.buffer));
            }
            if self.socket.read_buf(&mut self.buffer).await? == 0 {
                return Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof).into());
            }
        }
    }
}

/// Connects, from `source` where one address has too few ports.
pub async fn connect(address: SocketAddr, source: Option<IpAddr>) -> MeasurementResult<TcpStream> {
    let connected = async {
        let socket = match address {
            SocketAddr::V4(_) => TcpSocket::new_v4()?,
            SocketAddr::V6(_) => TcpSocket::new_v6()?,
        };
        if let Some(source) = source {
            socket.bind(SocketAddr::new(source, 0))?;
        }
        let stream = socket.connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    };
    connected.await.map_err(|source| MeasurementError::Connect { address, source })
}

/// The head at the start of `bytes`, once all of it is there.
pub fn head(bytes: &[u8]) -> MeasurementResult<Option<ResponseHead>> {
    let Some(end) = memchr::memmem::find(bytes, b"\r\n\r\n") else { return Ok(None) };
    let lines = &bytes[..end];
    let digits = lines.get(9..12).and_then(|digits| std::str::from_utf8(digits).ok());
    let Some(status) = digits.and_then(|digits| digits.parse().ok()) else { return Err(malformed(bytes)) };
    let mut body = Body::Sized(0);
    for line in lines.split(|byte| *byte == b'\n') {
        if let Some(length) = header(line, b"content-length:") {
            body = Body::Sized(length.trim().parse().map_err(|_| malformed(bytes))?);
        } else if header(line, b"transfer-encoding:").is_some() {
            body = Body::Chunked;
        }
    }
    Ok(Some(ResponseHead { status, length: end + 4, body }))
}

pub fn refused(request: &[u8], status: u16, body: &[u8]) -> MeasurementError {
    let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let text = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(500)]).into_owned();
    MeasurementError::Refused { request: text(line), status, body: text(body) }
}

/// The head and the end of the first answer in `bytes`, once all of it is there.
fn complete(bytes: &[u8]) -> MeasurementResult<Option<(ResponseHead, usize)>> {
    let Some(head) = head(bytes)? else { return Ok(None) };
    let end = match head.body {
        Body::Sized(length) => Some(head.length + length).filter(|end| *end <= bytes.len()),
        Body::Chunked => memchr::memmem::find(&bytes[head.length - 2..], b"\r\n0\r\n\r\n")
            .map(|at| head.length - 2 + at + b"\r\n0\r\n\r\n".len()),
    };
    Ok(end.map(|end| (head, end)))
}

fn header<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a str> {
    let (start, value) = line.split_at_checked(name.len())?;
    start.eq_ignore_ascii_case(name).then(|| std::str::from_utf8(value).ok())?
}

fn malformed(bytes: &[u8]) -> MeasurementError {
    MeasurementError::Malformed(String::from_utf8_lossy(&bytes[..bytes.len().min(80)]).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &str, expected: Option<(u16, Body, usize)>) {
        let found = complete(bytes.as_bytes()).expect("the answer is well formed");
        assert_eq!(found.map(|(head, end)| (head.status, head.body, end)), expected, "{bytes:?}");
    }

    #[test]
    fn an_answer_ends_where_its_body_ends() {
        check("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP", Some((200, Body::Sized(2), 40)));
        check("HTTP/1.1 204 No Content\r\n\r\n", Some((204, Body::Sized(0), 27)));
        check(
            "HTTP/1.1 201 Created\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
            Some((201, Body::Chunked, 64)),
        );
    }

    #[test]
    fn an_unfinished_answer_is_waited_for() {
        check("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nh", None);
        check("HTTP/1.1 200 OK\r\nContent-Le", None);
        check("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n", None);
    }
}
