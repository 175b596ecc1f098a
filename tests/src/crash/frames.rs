//! Takes a stream's bytes apart: server-sent events, or lines.

/// One whole frame. What a cut left half is no frame.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frame {
    pub id: Option<String>,
    pub event: Option<String>,
    pub data: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Sse,
    Lines,
}

/// Removes the whole frames from the front of `buffer`.
pub fn take(format: Format, buffer: &mut Vec<u8>) -> Vec<Frame> {
    let separator: &[u8] = if format == Format::Sse { b"\n\n" } else { b"\n" };
    let mut frames = Vec::new();
    let mut start = 0;
    while let Some(at) = find(&buffer[start..], separator) {
        let text = String::from_utf8_lossy(&buffer[start..start + at]);
        match format {
            Format::Lines => frames.push(Frame { data: text.into_owned(), ..Frame::default() }),
            Format::Sse => frames.push(sse(&text)),
        }
        start += at + separator.len();
    }
    buffer.drain(..start);
    frames
}

fn find(bytes: &[u8], separator: &[u8]) -> Option<usize> {
    bytes.windows(separator.len()).position(|window| window == separator)
}

fn sse(text: &str) -> Frame {
    let mut frame = Frame::default();
    for line in text.lines() {
        match line.split_once(": ") {
            Some(("id", value)) => frame.id = Some(value.to_owned()),
            Some(("event", value)) => frame.event = Some(value.to_owned()),
            Some(("data", value)) => frame.data.push_str(value),
            Some(_) | None => {}
        }
    }
    frame
}
