//! What comes over the socket: answers, chunks, frames. Written from the standards, with nothing of the server's.

use serde_json::Value;

/// An answer as it stood on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// False if the body was cut before its end.
    pub is_complete: bool,
}

impl Answer {
    pub fn parse(bytes: &[u8]) -> Self {
        let (status, headers, rest) = head(bytes).unwrap_or_else(|| {
            panic!("no head in {:?}", String::from_utf8_lossy(&bytes[..bytes.len().min(200)]))
        });
        let mut chunks = Chunks::of(&headers);
        chunks.push(rest);
        Self { status, headers, is_complete: chunks.is_over(), body: chunks.take() }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// Status and code: what every refusal is pinned by.
    pub fn refusal(&self) -> (u16, String) {
        let body: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        (self.status, body["code"].as_str().unwrap_or("none").to_owned())
    }
}

type Head<'a> = (u16, Vec<(String, String)>, &'a [u8]);

/// Status, headers and what follows; None if the head is not complete.
pub fn head(bytes: &[u8]) -> Option<Head<'_>> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let text = std::str::from_utf8(&bytes[..end]).expect("a head is ASCII");
    let mut lines = text.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().expect("a status");
    let pair = |line: &str| {
        let (name, value) = line.split_once(':').expect("a header");
        (name.to_ascii_lowercase(), value.trim().to_owned())
    };
    Some((status, lines.map(pair).collect(), &bytes[end + 4..]))
}

/// Takes a body apart while it arrives.
#[derive(Debug)]
pub struct Chunks {
    length: Length,
    raw: Vec<u8>,
    body: Vec<u8>,
}

#[derive(Debug)]
enum Length {
    Chunked { is_over: bool },
    Exactly(usize),
    UntilClose,
}

impl Chunks {
    pub fn of(headers: &[(String, String)]) -> Self {
        let find =
            |name: &str| headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        let length = match (find("transfer-encoding"), find("content-length")) {
            (Some(_), _) => Length::Chunked { is_over: false },
            (None, Some(length)) => Length::Exactly(length.parse().expect("a length")),
            (None, None) => Length::UntilClose,
        };
        Self { length, raw: Vec::new(), body: Vec::new() }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        let Length::Chunked { is_over } = &mut self.length else {
            self.body.extend_from_slice(bytes);
            return;
        };
        self.raw.extend_from_slice(bytes);
        let mut at = 0;
        while let Some(end) = self.raw[at..].windows(2).position(|two| two == b"\r\n") {
            let size = std::str::from_utf8(&self.raw[at..at + end]).expect("a size is ASCII");
            let size = usize::from_str_radix(size, 16).expect("a size in hexadecimal");
            let from = at + end + 2;
            // A chunk that is cut is still data: a reader sees what arrived.
            if self.raw.len() < from + size + 2 {
                break;
            }
            self.body.extend_from_slice(&self.raw[from..from + size]);
            *is_over |= size == 0;
            at = from + size + 2;
        }
        self.raw.drain(..at);
    }

    /// True if the body ended as it announced.
    pub fn is_over(&self) -> bool {
        match self.length {
            Length::Chunked { is_over } => is_over,
            Length::Exactly(length) => self.body.len() == length,
            Length::UntilClose => true,
        }
    }

    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.body)
    }
}

/// One frame of an event stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frame {
    pub id: Option<String>,
    pub event: Option<String>,
    pub data: String,
}

impl Frame {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap_or_else(|error| panic!("{error}: {}", self.data))
    }

    /// The type of a word about the stream itself.
    pub fn word(&self) -> Option<String> {
        self.event.as_ref()?;
        self.json()["type"].as_str().map(str::to_owned)
    }
}

/// Frames out of a body that arrives in any pieces. A frame without its blank line does not count.
#[derive(Debug, Default)]
pub struct Frames(Vec<u8>);

impl Frames {
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<Frame>) {
        self.0.extend_from_slice(bytes);
        let mut at = 0;
        while let Some(end) = self.0[at..].windows(2).position(|two| two == b"\n\n") {
            out.push(frame(std::str::from_utf8(&self.0[at..at + end]).expect("frames are UTF-8")));
            at += end + 2;
        }
        self.0.drain(..at);
    }
}

fn frame(text: &str) -> Frame {
    let mut frame = Frame::default();
    for line in text.split('\n') {
        let (field, value) = line.split_once(": ").expect("a field and a value");
        match field {
            "id" => frame.id = Some(value.to_owned()),
            "event" => frame.event = Some(value.to_owned()),
            "data" => frame.data.push_str(value),
            "retry" => drop(value.parse::<u64>().expect("retry is a number")),
            other => panic!("a field that no reader knows: {other}"),
        }
    }
    frame
}
