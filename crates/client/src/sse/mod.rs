//! An incremental reader of `text/event-stream`.
//!
//! Bytes may be split anywhere: inside a line end, inside a character, inside the byte order mark. The frames are
//! the same for every split. Nothing is replaced or dropped in silence: bytes that are not UTF-8, and lines or
//! frames over the limit, are errors.

#[cfg(test)]
mod tests;

/// One dispatched frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseFrame {
    /// The `event:` name; None when the frame has none.
    pub event: Option<String>,
    /// The `data:` lines, joined by line feeds.
    pub data: String,
    /// The last `id:` that was in effect when the frame ended.
    pub id: Option<String>,
    /// A `retry:` of this frame, in milliseconds.
    pub retry: Option<u64>,
}

/// How much one line and one frame may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SseLimits {
    pub line_bytes: usize,
    pub frame_bytes: usize,
}

impl Default for SseLimits {
    /// A snapshot travels as one line, so a line may be as large as a frame.
    fn default() -> Self {
        Self { line_bytes: 64 << 20, frame_bytes: 64 << 20 }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    #[error("a line of the stream is over {limit} bytes")]
    LineTooLong { limit: usize },
    #[error("a frame of the stream is over {limit} bytes")]
    FrameTooLong { limit: usize },
    #[error("a line of the stream is not UTF-8 at byte {at}")]
    InvalidUtf8 { at: usize },
}

/// Holds the unfinished line and the unfinished frame between two pieces of the body.
#[derive(Debug)]
pub struct SseParser {
    limits: SseLimits,
    line: Vec<u8>,
    /// The last byte was a CR, so a LF that follows belongs to the same line end.
    after_cr: bool,
    /// No line has ended yet, so a byte order mark may still open the stream.
    at_start: bool,
    data: String,
    has_data: bool,
    event: Option<String>,
    id: Option<String>,
    retry: Option<u64>,
}

impl Default for SseParser {
    fn default() -> Self {
        Self::new(SseLimits::default())
    }
}

impl SseParser {
    pub fn new(limits: SseLimits) -> Self {
        Self {
            limits,
            line: Vec::new(),
            after_cr: false,
            at_start: true,
            data: String::new(),
            has_data: false,
            event: None,
            id: None,
            retry: None,
        }
    }

    /// Takes the next bytes and adds every frame that they complete. After an error the parser must be dropped.
    pub fn push(&mut self, bytes: &[u8], frames: &mut Vec<SseFrame>) -> Result<(), SseError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            if std::mem::take(&mut self.after_cr) && rest[0] == b'\n' {
                rest = &rest[1..];
                continue;
            }
            match rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
                None => {
                    self.extend_line(rest)?;
                    return Ok(());
                }
                Some(end) => {
                    self.extend_line(&rest[..end])?;
                    self.after_cr = rest[end] == b'\r';
                    rest = &rest[end + 1..];
                    self.end_line(frames)?;
                }
            }
        }
        Ok(())
    }

    /// True when the stream stopped inside a frame: what was read of it must not be used.
    pub fn is_inside_frame(&self) -> bool {
        !self.line.is_empty() || self.has_data || self.event.is_some()
    }

    fn extend_line(&mut self, part: &[u8]) -> Result<(), SseError> {
        if self.line.len() + part.len() > self.limits.line_bytes {
            return Err(SseError::LineTooLong { limit: self.limits.line_bytes });
        }
        self.line.extend_from_slice(part);
        Ok(())
    }

    fn end_line(&mut self, frames: &mut Vec<SseFrame>) -> Result<(), SseError> {
        let mut line = std::mem::take(&mut self.line);
        let text = std::str::from_utf8(&line).map_err(|e| SseError::InvalidUtf8 { at: e.valid_up_to() })?;
        let text = if std::mem::take(&mut self.at_start) {
            text.strip_prefix('\u{feff}').unwrap_or(text)
        } else {
            text
        };
        if text.is_empty() {
            self.end_frame(frames);
        } else {
            self.field(text)?;
        }
        // The buffer is kept, so that a long stream of short lines allocates once.
        line.clear();
        self.line = line;
        Ok(())
    }

    fn field(&mut self, line: &str) -> Result<(), SseError> {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "data" => self.add_data(value)?,
            "event" => self.event = (!value.is_empty()).then(|| value.to_owned()),
            "id" if !value.contains('\0') => self.id = Some(value.to_owned()),
            "retry" if value.bytes().all(|b| b.is_ascii_digit()) => self.retry = value.parse().ok(),
            // A comment has an empty name; other names are for readers that know them.
            _ => {}
        }
        Ok(())
    }

    fn add_data(&mut self, value: &str) -> Result<(), SseError> {
        if self.data.len() + value.len() + 1 > self.limits.frame_bytes {
            return Err(SseError::FrameTooLong { limit: self.limits.frame_bytes });
        }
        if self.has_data {
            self.data.push('\n');
        }
        self.has_data = true;
        self.data.push_str(value);
        Ok(())
    }

    fn end_frame(&mut self, frames: &mut Vec<SseFrame>) {
        let event = self.event.take();
        let retry = self.retry.take();
        if std::mem::take(&mut self.has_data) {
            frames.push(SseFrame { event, data: std::mem::take(&mut self.data), id: self.id.clone(), retry });
        } else if retry.is_some() {
            // A frame without data is not dispatched, but its pause holds for the next frame that is.
            self.retry = retry;
        }
    }
}
