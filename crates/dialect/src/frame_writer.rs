//! Frames in their framing, gathered for readers of one kind.

use riverrun_event::{Cursor, CursorOrigin};

use crate::framing::write_foreign;
use crate::{ControlKind, ControlMessage, Frame, FramePosition, Frames, Framing};
use crate::{cursor_after, write_control, write_frame, write_framed};

/// Gathers frames. With [`Framing::Messages`] it notes each message, so that nobody has to find them in the text again.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameWriter {
    framing: Framing,
    text: String,
    messages: Vec<MessageEnd>,
}

/// Where a message ends in the text; it begins where the one before it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageEnd {
    pub at: usize,
    pub kind: MessageKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageKind {
    /// A frame of the dialect, and the reader's cursor behind it. None where the cursor does not move: the frame is a
    /// part of something that counts only as a whole.
    Frame(Option<Cursor>),
    /// A statement about the stream itself.
    Control(ControlKind),
}

impl FrameWriter {
    pub fn new(framing: Framing) -> Self {
        Self { framing, text: String::new(), messages: Vec::new() }
    }

    pub fn framing(&self) -> Framing {
        self.framing
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub fn frame(&mut self, origin: CursorOrigin, frame: &Frame<'_>) {
        write_frame(self.framing, origin, frame, &mut self.text);
        // A marker is a part of byte streams only.
        if !frame.is_marker {
            self.end(MessageKind::Frame(Some(cursor_after(origin, frame))));
        }
    }

    /// A frame whose JSON is written where it goes.
    pub fn framed(&mut self, position: FramePosition, json: impl FnOnce(&mut String)) {
        write_framed(self.framing, position, &mut self.text, json);
        let cursor = match position {
            FramePosition::At(cursor) => Some(cursor),
            FramePosition::Still => None,
        };
        self.end(MessageKind::Frame(cursor));
    }

    pub fn control(&mut self, control: &ControlMessage<'_>) {
        write_control(self.framing, control, &mut self.text);
        self.end(MessageKind::Control(control.kind()));
    }

    /// Bytes that only keep a byte stream open.
    pub fn keep_alive(&mut self, bytes: &str) {
        self.text.push_str(bytes);
    }

    /// The frames that bring a reader to `to`: its cursor moves with the last of them only.
    pub fn opening(&mut self, frames: &Frames, to: Cursor) {
        let is_foreign = matches!(self.framing, Framing::ForeignSse | Framing::ForeignSseWithIds);
        let mut frames = frames.iter().filter(|frame| is_foreign || !frame.is_marker).peekable();
        while let Some(frame) = frames.next() {
            let is_last = frames.peek().is_none();
            if is_foreign {
                let id = (is_last && self.framing == Framing::ForeignSseWithIds).then_some(to);
                write_foreign(id, &frame, &mut self.text);
            } else {
                let position = if is_last { FramePosition::At(to) } else { FramePosition::Still };
                self.framed(position, |out| out.push_str(frame.json));
            }
        }
    }

    /// The text, and where its messages end; without [`Framing::Messages`] there are none.
    pub fn into_parts(self) -> (String, Vec<MessageEnd>) {
        (self.text, self.messages)
    }

    fn end(&mut self, kind: MessageKind) {
        if self.framing == Framing::Messages {
            self.messages.push(MessageEnd { at: self.text.len(), kind });
        }
    }
}

#[cfg(test)]
mod tests {
    use riverrun_event::{Sequence, SessionId};

    use super::*;

    fn written(framing: Framing) -> Result<(String, Vec<MessageEnd>), Box<dyn std::error::Error>> {
        let origin = CursorOrigin::new(&SessionId::new("ses_1")?, 7);
        let mut frames = Frames::default();
        frames.push(Sequence::MAX, |out| out.push_str("{\"a\":1}"));
        frames.push(Sequence::MAX, |out| out.push_str("[]"));
        frames.push_marker(Sequence::MAX, "[DONE]");
        let mut writer = FrameWriter::new(framing);
        frames.iter().for_each(|frame| writer.frame(origin, &frame));
        writer.opening(&frames, Cursor::after(Sequence::ZERO, origin));
        writer.control(&ControlMessage::Draining { retry_millis: 1 });
        Ok(writer.into_parts())
    }

    #[test]
    fn messages_are_json_texts_without_markers() -> Result<(), Box<dyn std::error::Error>> {
        let (text, messages) = written(Framing::Messages)?;
        let mut from = 0;
        let mut found = Vec::new();
        for message in &messages {
            found.push((&text[from..message.at], message.kind));
            from = message.at;
        }
        let is_still = |kind: MessageKind| kind == MessageKind::Frame(None);
        let texts: Vec<&str> = found.iter().map(|(json, _)| *json).collect();
        assert_eq!(
            texts,
            ["{\"a\":1}", "[]", "{\"a\":1}", "[]", "{\"type\":\"stream.draining\",\"retryMillis\":1}"]
        );
        assert_eq!(from, text.len());
        assert_eq!(
            found.iter().map(|(_, kind)| is_still(*kind)).collect::<Vec<_>>(),
            [false, false, true, false, false]
        );
        assert_eq!(found[4].1, MessageKind::Control(ControlKind::Draining));
        Ok(())
    }

    #[test]
    fn byte_streams_have_no_messages() -> Result<(), Box<dyn std::error::Error>> {
        for framing in [Framing::Sse, Framing::ForeignSse, Framing::ForeignSseWithIds, Framing::Ndjson] {
            let (text, messages) = written(framing)?;
            assert!(messages.is_empty() && !text.is_empty(), "{framing:?}");
        }
        Ok(())
    }
}
