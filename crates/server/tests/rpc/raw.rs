//! Frames by hand, for what a well-behaved client library refuses to send.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{SOON, Server};

pub const TEXT: u8 = 0x81;
pub const TEXT_PART: u8 = 0x01;
pub const PART: u8 = 0x00;
pub const PING: u8 = 0x89;

/// A masked frame with a mask of zeros.
pub fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![first];
    match payload.len() {
        short @ 0..=125 => out.push(0x80 | short as u8),
        medium @ 126..=0xffff => {
            out.push(0xfe);
            out.extend_from_slice(&(medium as u16).to_be_bytes());
        }
        long => {
            out.push(0xff);
            out.extend_from_slice(&(long as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(payload);
    out
}

/// A socket behind the handshake.
pub async fn open(server: &Server) -> TcpStream {
    let mut stream = TcpStream::connect(server.address).await.expect("the server accepts");
    let hello = format!(
        "GET /v1/ws HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\nconnection: keep-alive, Upgrade\r\n\
         upgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        server.key
    );
    stream.write_all(hello.as_bytes()).await.expect("the server reads");
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        head.push(stream.read_u8().await.expect("the server answers").into());
    }
    assert!(head.starts_with("HTTP/1.1 101"), "{head}");
    // The example of RFC 6455, 1.3.
    assert!(head.contains("sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "{head}");
    assert!(!head.contains("sec-websocket-extensions"), "{head}");
    stream
}

/// The next frame of the server: its first byte and its payload.
pub async fn read_frame(stream: &mut TcpStream) -> Option<(u8, Vec<u8>)> {
    let read = async {
        let first = stream.read_u8().await.ok()?;
        let length = match stream.read_u8().await.ok()? {
            126 => usize::from(stream.read_u16().await.ok()?),
            127 => usize::try_from(stream.read_u64().await.ok()?).ok()?,
            short => usize::from(short),
        };
        let mut payload = vec![0; length];
        stream.read_exact(&mut payload).await.ok()?;
        Some((first, payload))
    };
    tokio::time::timeout(SOON, read).await.expect("a frame comes soon")
}

/// The code with which the server closes after these bytes; None if it closes without a word.
pub async fn close_code(server: &Server, bytes: &[u8]) -> Option<u16> {
    let mut stream = open(server).await;
    // The server may close while the rest is under way.
    let _ = stream.write_all(bytes).await;
    loop {
        let (first, payload) = read_frame(&mut stream).await?;
        if first == 0x88 {
            return payload.first_chunk().map(|code| u16::from_be_bytes(*code));
        }
    }
}
