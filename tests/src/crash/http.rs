//! A client for HTTP/1.1 on loopback: as little as the suites need, and nothing of the server's.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A connection that is kept for many requests.
pub struct Connection {
    stream: BufReader<TcpStream>,
    host: String,
    key: String,
}

pub struct Head {
    pub status: u16,
    headers: HashMap<String, String>,
}

/// How a body ended, or that it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Data,
    /// The last chunk was there: the sender says that this was all.
    CleanEnd,
}

pub type Header<'a> = (&'a str, String);

impl Connection {
    pub fn open(address: SocketAddr, key: &str, patience: Duration) -> Result<Self> {
        let stream = TcpStream::connect_timeout(&address, patience)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(patience))?;
        stream.set_write_timeout(Some(patience))?;
        Ok(Self { stream: BufReader::new(stream), host: address.to_string(), key: key.to_owned() })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.stream.get_mut().write_all(bytes)
    }

    fn head(&self, method: &str, path: &str, headers: &[Header<'_>]) -> String {
        let mut text = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n",
            self.host, self.key
        );
        headers.iter().for_each(|(name, value)| text.push_str(&format!("{name}: {value}\r\n")));
        text
    }

    /// Sends a request and waits for the head of the answer.
    pub fn send(&mut self, method: &str, path: &str, headers: &[Header<'_>], body: &[u8]) -> Result<Head> {
        let mut head = self.head(method, path, headers).into_bytes();
        head.extend_from_slice(format!("content-length: {}\r\n\r\n", body.len()).as_bytes());
        head.extend_from_slice(body);
        self.write(&head)?;
        self.read_head()
    }

    /// The same with the body in two writes, cut at `at` with a pause, so that they arrive apart.
    pub fn send_cut(&mut self, path: &str, headers: &[Header<'_>], body: &[u8], at: usize) -> Result<Head> {
        let mut head = self.head("POST", path, headers).into_bytes();
        head.extend_from_slice(format!("content-length: {}\r\n\r\n", body.len()).as_bytes());
        head.extend_from_slice(&body[..at]);
        self.write(&head)?;
        std::thread::sleep(Duration::from_millis(2));
        self.write(&body[at..])?;
        self.read_head()
    }

    /// Begins a request whose body is sent in parts.
    pub fn begin(&mut self, path: &str, headers: &[Header<'_>]) -> Result<()> {
        let head = self.head("POST", path, headers) + "transfer-encoding: chunked\r\n\r\n";
        self.write(head.as_bytes())
    }

    /// Begins a request whose body has so many bytes, which are sent by `send_raw`.
    pub fn begin_of_length(
        &mut self,
        method: &str,
        path: &str,
        headers: &[Header<'_>],
        length: usize,
    ) -> Result<()> {
        let head = self.head(method, path, headers) + &format!("content-length: {length}\r\n\r\n");
        self.write(head.as_bytes())
    }

    pub fn send_raw(&mut self, bytes: &[u8]) -> Result<()> {
        self.write(bytes)
    }

    pub fn send_part(&mut self, part: &[u8]) -> Result<()> {
        let mut bytes = format!("{:x}\r\n", part.len()).into_bytes();
        bytes.extend_from_slice(part);
        bytes.extend_from_slice(b"\r\n");
        self.write(&bytes)
    }

    pub fn end(&mut self) -> Result<()> {
        self.write(b"0\r\n\r\n")
    }

    pub fn read_head(&mut self) -> Result<Head> {
        let first = self.line()?;
        let status = first.split(' ').nth(1).and_then(|word| word.parse().ok());
        let status = status.ok_or_else(|| malformed(&first))?;
        let mut headers = HashMap::new();
        loop {
            let line = self.line()?;
            if line.is_empty() {
                return Ok(Head { status, headers });
            }
            if let Some((name, value)) = line.split_once(':') {
                headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
            }
        }
    }

    /// The whole body of an answer, however it is framed. Cut off is an error.
    pub fn read_body(&mut self, head: &Head) -> Result<Vec<u8>> {
        let mut body = Vec::new();
        if head.is_chunked() {
            while self.read_part(&mut body)? == Part::Data {}
        } else {
            let length = head.headers.get("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
            body.resize(length, 0);
            self.stream.read_exact(&mut body)?;
        }
        Ok(body)
    }

    /// The next part of a chunked body, put behind `into`.
    pub fn read_part(&mut self, into: &mut Vec<u8>) -> Result<Part> {
        let line = self.line()?;
        let size = usize::from_str_radix(line.trim(), 16).map_err(|_| malformed(&line))?;
        let start = into.len();
        into.resize(start + size, 0);
        self.stream.read_exact(&mut into[start..])?;
        self.line()?;
        Ok(if size == 0 { Part::CleanEnd } else { Part::Data })
    }

    fn line(&mut self) -> Result<String> {
        let mut bytes = Vec::new();
        self.stream.read_until(b'\n', &mut bytes)?;
        if bytes.pop() != Some(b'\n') {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
        String::from_utf8(bytes).map_err(Error::other)
    }
}

impl Head {
    /// The value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    pub fn is_chunked(&self) -> bool {
        self.headers.get("transfer-encoding").is_some_and(|value| value == "chunked")
    }
}

fn malformed(line: &str) -> Error {
    Error::new(ErrorKind::InvalidData, format!("not HTTP: `{line}`"))
}
