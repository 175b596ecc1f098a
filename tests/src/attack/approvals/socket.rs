//! JSON-RPC and other messages over a WebSocket, as much as an attack needs.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(10);

const TEXT: u8 = 1;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

pub struct Socket {
    stream: TcpStream,
    next: u64,
}

impl Socket {
    pub fn open(address: SocketAddr, key: &str, path: &str) -> Result<Self> {
        let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let upgrade = format!(
            "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
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
        self.send(TEXT, text.as_bytes())?;
        loop {
            let answer: Value = serde_json::from_slice(&self.frame()?.1).unwrap_or(Value::Null);
            if answer["id"] == self.next {
                return Ok(answer);
            }
        }
    }

    /// Sends messages and waits until the server has dealt with each of them, or has closed.
    pub fn say(&mut self, messages: &[Value]) -> Result<()> {
        for message in messages {
            self.send(TEXT, message.to_string().as_bytes())?;
        }
        // Messages are taken one after the other, and a ping is answered behind them.
        self.send(PING, b"done")?;
        loop {
            match self.frame()? {
                (PONG, _) | (CLOSE, _) => return Ok(()),
                _ => {}
            }
        }
    }

    /// Sends a message of so many bytes in fragments, and leaves out the last.
    pub fn begin_message(&mut self, length: usize) -> Result<()> {
        let piece = vec![b' '; 32 * 1024];
        for number in 0..length / piece.len() {
            let mut frame = vec![if number == 0 { TEXT } else { 0 }, 0x80 | 126];
            frame.extend_from_slice(&u16::try_from(piece.len())?.to_be_bytes());
            frame.extend_from_slice(&[0; 4]);
            frame.extend_from_slice(&piece);
            // The server may have closed by now; its reason is there to be read.
            if self.stream.write_all(&frame).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Begins a message and waits until the server has read it: true if it holds the message, false if it closed.
    pub fn is_message_held(&mut self, length: usize) -> Result<bool> {
        self.begin_message(length)?;
        // A closed socket shows in what can be read.
        let _ = self.send(PING, b"held");
        loop {
            match self.frame()?.0 {
                PONG => return Ok(true),
                CLOSE => return Ok(false),
                _ => {}
            }
        }
    }

    /// Waits for the end, and answers its code.
    pub fn close_code(&mut self) -> Result<u16> {
        loop {
            if let (CLOSE, payload) = self.frame()? {
                let code = payload.first_chunk().context("a close frame has a code")?;
                return Ok(u16::from_be_bytes(*code));
            }
        }
    }

    /// A whole frame whose mask is zero.
    fn send(&mut self, opcode: u8, payload: &[u8]) -> Result<()> {
        let mut frame = vec![0x80 | opcode];
        match u16::try_from(payload.len()).context("a short message")? {
            short @ 0..=125 => frame.push(0x80 | u8::try_from(short)?),
            long => {
                frame.push(0x80 | 126);
                frame.extend_from_slice(&long.to_be_bytes());
            }
        }
        frame.extend_from_slice(&[0; 4]);
        frame.extend_from_slice(payload);
        Ok(self.stream.write_all(&frame)?)
    }

    fn frame(&mut self) -> Result<(u8, Vec<u8>)> {
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
        Ok((head[0] & 0xf, payload))
    }
}
