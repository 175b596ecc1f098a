//! JSON-RPC over a WebSocket, as much as an attack needs.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(10);

pub struct Socket {
    stream: TcpStream,
    next: u64,
}

impl Socket {
    pub fn open(address: SocketAddr, key: &str) -> Result<Self> {
        let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let upgrade = format!(
            "GET /v1/ws HTTP/1.1\r\nhost: {address}\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
             sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
             authorization: Bearer {key}\r\n\r\n"
        );
        stream.write_all(upgrade.as_bytes())?;
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte)?;
            head.push(byte[0]);
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        ensure!(head.starts_with("HTTP/1.1 101"), "no WebSocket: {head}");
        Ok(Self { stream, next: 0 })
    }

    /// One request and its answer.
    pub fn call(&mut self, method: &str, params: Value) -> Result<Value> {
        self.next += 1;
        let text = json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}).to_string();
        // A text frame whose mask is zero.
        let mut frame = vec![0x81];
        match text.len() {
            short @ 0..=125 => frame.push(0x80 | u8::try_from(short)?),
            long => {
                frame.push(0x80 | 126);
                frame.extend_from_slice(&u16::try_from(long).context("a short message")?.to_be_bytes());
            }
        }
        frame.extend_from_slice(&[0; 4]);
        frame.extend_from_slice(text.as_bytes());
        self.stream.write_all(&frame)?;
        loop {
            let answer: Value = serde_json::from_slice(&self.frame()?).unwrap_or(Value::Null);
            if answer["id"] == self.next {
                return Ok(answer);
            }
        }
    }

    fn frame(&mut self) -> Result<Vec<u8>> {
        let mut head = [0; 2];
        self.stream.read_exact(&mut head)?;
        let length = match head[1] & 0x7f {
            126 => {
                let mut long = [0; 2];
                self.stream.read_exact(&mut long)?;
                usize::from(u16::from_be_bytes(long))
            }
            127 => {
                let mut long = [0; 8];
                self.stream.read_exact(&mut long)?;
                usize::try_from(u64::from_be_bytes(long))?
            }
            short => usize::from(short),
        };
        let mut payload = vec![0; length];
        self.stream.read_exact(&mut payload)?;
        Ok(payload)
    }
}
