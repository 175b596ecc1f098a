//! An incremental reader of `text/event-stream`.
//!
//! Bytes may be split anywhere: inside a line end, a character or the byte order mark. The frames are the same for
//! every split, and so is the position of an error. Nothing is replaced or dropped silently.

#[cfg(test)]
mod tests;

/// One dispatched frame.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SseFrame {
    /// The `event:` name; `None` when the frame has none.
    pub event: Option<String>,
    /// The `data:` lines, joined by line feeds.
    pub data: String,
    /// The last `id:` that was in effect when the frame ended.
    pub id: Option<String>,
    /// A `retry:` of this frame, or of frames without data before it, in milliseconds.
    pub retry: Option<u64>,
}

/// Why a stream cannot be read on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// The lines of one frame hold more than the limit.
    #[error("a frame of the stream is over {limit} bytes")]
    TooLong {
        /// The limit of the parser.
        limit: usize,
    },
    /// A line is not UTF-8.
    #[error("a line of the stream is not UTF-8")]
    InvalidUtf8,
}

/// Holds the unfinished line and the unfinished frame between two pieces of the body.
///
/// ```
/// use riverrun_net::SseParser;
///
/// let mut parser = SseParser::new(1024);
/// let mut frames = Vec::new();
/// parser.push(b"id: 7\nda", &mut frames)?;
/// assert!(frames.is_empty());
/// parser.push(b"ta: hello\n\n", &mut frames)?;
/// assert_eq!((frames[0].id.as_deref(), frames[0].data.as_str()), (Some("7"), "hello"));
/// # Ok::<(), riverrun_net::SseError>(())
/// ```
#[derive(Debug)]
pub struct SseParser {
    /// How much the lines of one frame may hold together.
    limit: usize,
    line: Vec<u8>,
    /// Bytes of the frame's lines that have ended.
    frame_bytes: usize,
    /// The last byte was a CR, so a LF that follows belongs to the same line end.
    after_cr: bool,
    /// No line has ended yet, so a byte order mark may still open the stream.
    at_start: bool,
    event: Option<String>,
    data: Option<String>,
    id: Option<String>,
    retry: Option<u64>,
    failed: Option<SseError>,
}

impl SseParser {
    /// A parser whose frames hold at most `limit` bytes, with names and comments.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            frame_bytes: 0,
            after_cr: false,
            at_start: true,
            event: None,
            data: None,
            id: None,
            retry: None,
            failed: None,
        }
    }

    /// Adds every frame that the bytes complete. After an error every push returns that error.
    pub fn push(&mut self, bytes: &[u8], frames: &mut Vec<SseFrame>) -> Result<(), SseError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        self.read(bytes, frames).inspect_err(|error| self.failed = Some(error.clone()))
    }

    /// The last `id:` that was read, also of a frame without data.
    pub fn last_id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// A `retry:` that no frame has carried yet.
    pub fn pending_retry(&self) -> Option<u64> {
        self.retry
    }

    fn read(&mut self, mut bytes: &[u8], frames: &mut Vec<SseFrame>) -> Result<(), SseError> {
        while let Some(first) = bytes.first() {
            if std::mem::take(&mut self.after_cr) && *first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let (line, after) = bytes.split_at(end.unwrap_or(bytes.len()));
            if self.frame_bytes + self.line.len() + line.len() > self.limit {
                return Err(SseError::TooLong { limit: self.limit });
            }
            self.line.extend_from_slice(line);
            let Some(line_end) = after.first() else { break };
            self.after_cr = *line_end == b'\r';
            bytes = &after[1..];
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
        // The buffer is used again: a stream of short lines allocates once.
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
            ("id", _) if !value.contains('\0') => self.id = Some(value.to_owned()),
            ("retry", _) if value.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.retry = value.parse().ok();
            }
            // A comment has an empty name; other names are for readers that know them.
            _ => {}
        }
    }

    fn end_frame(&mut self, frames: &mut Vec<SseFrame>) {
        self.frame_bytes = 0;
        let event = self.event.take();
        // A frame without data is not dispatched; its pause holds for the next frame that is.
        if let Some(data) = self.data.take() {
            frames.push(SseFrame { event, data, id: self.id.clone(), retry: self.retry.take() });
        }
    }
}
