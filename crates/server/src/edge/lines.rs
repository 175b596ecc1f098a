//! Reads NDJSON bodies while they arrive.

use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use riverrun_event::{ErrorCode, json};

use super::Edge;
use super::body::{broken, too_slow};
use super::problem::Problem;

/// Reads an NDJSON body line by line while it arrives, each line checked and without white space.
pub struct Lines {
    body: Body,
    buffer: BytesMut,
    /// The bytes of `buffer` that are known to hold no line end.
    searched: usize,
    ended: bool,
    max_line: usize,
    idle: Duration,
    json: json::Limits,
    number: u64,
}

impl Lines {
    /// A streaming body may take as long as it likes in all, but not longer than `body_time` between bytes.
    pub fn new(body: Body, edge: &Edge) -> Self {
        let limits = edge.limits();
        Self {
            body,
            buffer: BytesMut::new(),
            searched: 0,
            ended: false,
            max_line: limits.body_bytes,
            idle: limits.body_time,
            json: limits.json,
            number: 0,
        }
    }

    /// The next line that is not blank, as compact JSON; `None` at the end. The body must end in a whole line:
    /// a last line without its line end counts if the body ended cleanly.
    pub async fn next(&mut self) -> Result<Option<String>, Problem> {
        loop {
            let Some(line) = self.take_line() else {
                if self.ended {
                    return Ok(None);
                }
                self.read_more().await?;
                continue;
            };
            self.number += 1;
            let bare =
                if self.number == 1 { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line) } else { &line };
            if bare.len() > self.max_line {
                return Err(self.line_too_large());
            }
            if !bare.iter().all(u8::is_ascii_whitespace) {
                let checked = json::compact(bare, &self.json);
                return checked.map(Some).map_err(|error| Problem::from(error).with("line", self.number));
            }
        }
    }

    /// True if another `next` would not have to wait for the network: a batch ends where this turns false.
    pub fn has_buffered_line(&self) -> bool {
        self.buffer.contains(&b'\n')
    }

    /// The number of the line that `next` gave last, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    fn take_line(&mut self) -> Option<Bytes> {
        match self.buffer[self.searched..].iter().position(|byte| *byte == b'\n') {
            Some(at) => {
                let end = self.searched + at;
                self.searched = 0;
                let line = self.buffer.split_to(end + 1).freeze();
                Some(line.slice(..end))
            }
            None if self.ended && !self.buffer.is_empty() => {
                self.searched = 0;
                Some(self.buffer.split().freeze())
            }
            None => {
                self.searched = self.buffer.len();
                None
            }
        }
    }

    async fn read_more(&mut self) -> Result<(), Problem> {
        if self.buffer.len() > self.max_line {
            self.number += 1;
            return Err(self.line_too_large());
        }
        let frame =
            tokio::time::timeout(self.idle, self.body.frame()).await.map_err(|_| too_slow(self.idle))?;
        match frame {
            None => self.ended = true,
            Some(frame) => {
                if let Ok(data) = frame.map_err(|_| broken())?.into_data() {
                    self.buffer.extend_from_slice(&super::body::arrived(data));
                }
            }
        }
        Ok(())
    }

    fn line_too_large(&self) -> Problem {
        let detail = format!("line {} has more than {} bytes", self.number, self.max_line);
        Problem::new(ErrorCode::EventTooLarge, detail).limit(self.max_line as u64).with("line", self.number)
    }
}
