//! An incremental reader of `text/event-stream`.
//!
//! Bytes may be split anywhere: inside a line end, a character or the byte order mark. The frames are the same for
//! every split, and so is the place of an error.

/// One dispatched frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseFrame {
    pub event: Option<String>,
    /// The `data:` lines, joined by line feeds.
    pub data: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    #[error("a frame of the stream is over {limit} bytes")]
    TooLong { limit: usize },
    #[error("a line of the stream is not UTF-8")]
    InvalidUtf8,
}

/// Holds the unfinished line and the unfinished frame between two pieces of the body.
#[derive(Debug)]
pub struct SseParser {
    /// How much the lines of one frame may hold together.
    limit: usize,
    line: Vec<u8>,
    /// Bytes of the frame's lines that have ended.
    frame_bytes: usize,
    /// The last byte was a CR, so a LF that follows belongs to the same line end.
    after_cr: bool,
    at_start: bool,
    event: Option<String>,
    data: Option<String>,
    failed: Option<SseError>,
}

impl SseParser {
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            frame_bytes: 0,
            after_cr: false,
            at_start: true,
            event: None,
            data: None,
            failed: None,
        }
    }

    /// Adds every frame that the bytes complete. After an error every push is that error.
    pub fn push(&mut self, bytes: &[u8], frames: &mut Vec<SseFrame>) -> Result<(), SseError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        self.read(bytes, frames).inspect_err(|error| self.failed = Some(error.clone()))
    }

    fn read(&mut self, mut bytes: &[u8], frames: &mut Vec<SseFrame>) -> Result<(), SseError> {
        while let Some(first) = bytes.first() {
            if std::mem::take(&mut self.after_cr) && *first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let (line, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
            if self.frame_bytes + self.line.len() + line.len() > self.limit {
                return Err(SseError::TooLong { limit: self.limit });
            }
            self.line.extend_from_slice(line);
            let Some(line_end) = rest.first() else { break };
            self.after_cr = *line_end == b'\r';
            bytes = &rest[1..];
            self.end_line(frames)?;
        }
        Ok(())
    }

    fn end_line(&mut self, frames: &mut Vec<SseFrame>) -> Result<(), SseError> {
        let mut line = std::mem::take(&mut self.line);
        let text = std::str::from_utf8(&line).map_err(|_| SseError::InvalidUtf8)?;
        let text = match std::mem::take(&mut self.at_start) {
            true => text.strip_prefix('\u{feff}').unwrap_or(text),
            false => text,
        };
        if text.is_empty() {
            self.end_frame(frames);
        } else {
            self.frame_bytes += line.len();
            self.field(text);
        }
        // The buffer is kept: a stream of short lines allocates once.
        line.clear();
        self.line = line;
        Ok(())
    }

    fn field(&mut self, line: &str) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match (name, &mut self.data) {
            ("data", Some(data)) => {
                data.push('\n');
                data.push_str(value);
            }
            ("data", None) => self.data = Some(value.to_owned()),
            ("event", _) => self.event = (!value.is_empty()).then(|| value.to_owned()),
            // A comment has an empty name; `id` and `retry` mean nothing to a stream that is never resumed.
            _ => {}
        }
    }

    fn end_frame(&mut self, frames: &mut Vec<SseFrame>) {
        self.frame_bytes = 0;
        let event = self.event.take();
        if let Some(data) = self.data.take() {
            frames.push(SseFrame { event, data });
        }
    }
}
