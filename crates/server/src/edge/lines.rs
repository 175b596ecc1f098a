//! Reads NDJSON bodies while they arrive.

use std::time::Duration;

use axum::body::Body;
use bytes::{Buf, Bytes, BytesMut};
use http_body::{Body as _, Frame};
use http_body_util::BodyExt;
use riverrun_event::{ErrorCode, TenantId, json};

use super::Edge;
use super::body::{broken, too_slow};
use super::byte_budget::Reservation;
use super::problem::Problem;

/// How long a group of lines waits for more of a body that is known to have more.
const ON_ITS_WAY: Duration = Duration::from_millis(2);

/// The largest buffer that a body keeps while nothing arrives.
const LARGEST_IDLE: usize = 64 * 1024;

/// Reads an NDJSON body line by line while it arrives, each line checked and without white space.
pub struct Lines {
    body: Body,
    buffer: BytesMut,
    /// The bytes of `buffer` that are known to hold no line end.
    searched: usize,
    ended: bool,
    /// The bytes of `buffer`, as others must do without them.
    reservation: Reservation,
    /// Why the body cannot be read on; told when all that came before was given.
    broken: Option<Problem>,
    /// The connection broke off.
    is_cut: bool,
    max_line: usize,
    idle: Duration,
    json: json::JsonLimits,
    number: u64,
}

impl Lines {
    /// A streaming body may take as long as it likes in all, but not longer than `body_time` between bytes.
    pub fn new(body: Body, edge: &Edge, tenant: Option<TenantId>) -> Self {
        let limits = edge.limits();
        Self {
            body,
            buffer: BytesMut::new(),
            searched: 0,
            ended: false,
            reservation: edge.body_bytes().open(tenant),
            broken: None,
            is_cut: false,
            max_line: limits.body_bytes,
            idle: limits.body_time,
            json: limits.json,
            number: 0,
        }
    }

    /// The next line that is not blank, as compact JSON; `None` at the end. The body must end in a whole line:
    /// a last line without its line end counts if the body ended cleanly.
    pub async fn next(&mut self) -> Result<Option<String>, Problem> {
        self.read_next(str::to_owned).await
    }

    /// As [`Lines::next`], for a caller that reads the line where it stands.
    pub async fn read_next<T>(&mut self, mut read: impl FnMut(&str) -> T) -> Result<Option<T>, Problem> {
        loop {
            let Some((length, next)) = self.find_line() else {
                if self.ended {
                    return Ok(None);
                }
                self.read_more().await?;
                continue;
            };
            self.number += 1;
            let line = &self.buffer[..length];
            let bare =
                if self.number == 1 { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) } else { line };
            if bare.len() > self.max_line {
                return Err(self.line_too_large());
            }
            let is_blank = bare.iter().all(u8::is_ascii_whitespace);
            let value = match is_blank {
                true => None,
                false => Some(json::compact_text(bare, &self.json).map(|line| read(&line))),
            };
            self.buffer.advance(next);
            self.searched = 0;
            self.release();
            match value {
                None => continue,
                Some(Ok(value)) => return Ok(Some(value)),
                Some(Err(error)) => return Err(Problem::from(error).with("line", self.number)),
            }
        }
    }

    /// True if another `next` would not have to wait for the network: a batch ends where this turns false.
    /// Waits a moment for the rest of a body whose length is known: it is on its way, and what is stored together
    /// costs one sync.
    pub async fn has_more(&mut self) -> bool {
        loop {
            if memchr::memchr(b'\n', &self.buffer[self.searched..]).is_some() {
                return true;
            }
            self.ended |= self.body.is_end_stream();
            if self.ended {
                return !self.buffer.is_empty();
            }
            if self.body.size_hint().exact().is_none() || self.buffer.len() > self.max_line {
                return false;
            }
            let Ok(frame) = tokio::time::timeout(ON_ITS_WAY, self.body.frame()).await else { return false };
            if let Err(problem) = self.take_frame(frame) {
                self.broken = Some(problem);
                return false;
            }
        }
    }

    /// True if the connection broke off before the end of the body.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// True if the body is known to have ended and every line of it was given.
    pub fn is_over(&self) -> bool {
        (self.ended || self.body.is_end_stream()) && self.buffer.is_empty() && self.broken.is_none()
    }

    /// About how many lines a body of known length still has, to reserve room for; at least 1.
    pub fn guess(&self) -> usize {
        const USUAL: u64 = 192;
        let bytes = self.body.size_hint().exact().unwrap_or(0) + self.buffer.len() as u64;
        usize::try_from(bytes / USUAL).unwrap_or(usize::MAX).max(1)
    }

    /// The number of the line that `next` gave last, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The length of the line that the buffer begins with, and where the next one begins.
    fn find_line(&mut self) -> Option<(usize, usize)> {
        match memchr::memchr(b'\n', &self.buffer[self.searched..]) {
            Some(at) => {
                let end = self.searched + at;
                Some((end, end + 1))
            }
            None if self.ended && !self.buffer.is_empty() => Some((self.buffer.len(), self.buffer.len())),
            None => {
                self.searched = self.buffer.len();
                None
            }
        }
    }

    async fn read_more(&mut self) -> Result<(), Problem> {
        if let Some(problem) = self.broken.take() {
            return Err(problem);
        }
        if self.buffer.len() > self.max_line {
            self.number += 1;
            return Err(self.line_too_large());
        }
        let frame =
            tokio::time::timeout(self.idle, self.body.frame()).await.map_err(|_| too_slow(self.idle))?;
        self.take_frame(frame)
    }

    fn take_frame(&mut self, frame: Option<Result<Frame<Bytes>, axum::Error>>) -> Result<(), Problem> {
        match frame {
            None => self.ended = true,
            Some(frame) => {
                self.is_cut |= frame.is_err();
                if let Ok(data) = frame.map_err(|_| broken())?.into_data() {
                    self.reservation.set(self.buffer.len() + data.len())?;
                    self.buffer.extend_from_slice(&super::body::arrived(data));
                }
            }
        }
        Ok(())
    }

    /// Gives back what is not needed for the lines that are left.
    fn release(&mut self) {
        // Fewer bytes than before are never refused.
        let _ = self.reservation.set(self.buffer.len());
        if self.buffer.is_empty() && self.buffer.capacity() > LARGEST_IDLE {
            self.buffer = BytesMut::new();
        }
    }

    fn line_too_large(&self) -> Problem {
        let detail = format!("line {} has more than {} bytes", self.number, self.max_line);
        Problem::new(ErrorCode::EventTooLarge, detail).limit(self.max_line as u64).with("line", self.number)
    }
}
