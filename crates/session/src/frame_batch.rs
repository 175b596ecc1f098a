//! Frames on their way to readers: bytes that many subscriptions share.

use std::sync::Arc;

use bytes::Bytes;
use riverrun_dialect::{FrameWriter, MessageEnd, MessageKind};

/// Frames in their framing. Those of [`riverrun_dialect::Framing::Messages`] can be taken one by one.
#[derive(Debug, Clone, Default)]
pub struct FrameBatch {
    bytes: Bytes,
    /// None on byte streams, where nobody looks for single frames.
    messages: Option<Arc<[MessageEnd]>>,
}

/// One frame, or one statement about the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// The JSON text.
    pub json: &'a str,
    /// A frame with its cursor, or a statement about the stream.
    pub kind: MessageKind,
}

impl FrameBatch {
    pub(crate) fn new(bytes: Bytes, messages: Vec<MessageEnd>) -> Self {
        Self { bytes, messages: (!messages.is_empty()).then(|| messages.into()) }
    }

    /// True if there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The whole batch as it goes to a byte stream.
    pub fn into_bytes(self) -> Bytes {
        self.bytes
    }

    /// The messages one by one; none on byte streams.
    pub fn messages(&self) -> impl Iterator<Item = Message<'_>> {
        (0..).map_while(|index| self.message(index))
    }

    fn message(&self, index: usize) -> Option<Message<'_>> {
        let ends = self.messages.as_deref()?;
        let end = ends.get(index)?;
        let from = index.checked_sub(1).and_then(|before| ends.get(before)).map_or(0, |before| before.at);
        let json = std::str::from_utf8(&self.bytes[from..end.at]).unwrap_or_default();
        Some(Message { json, kind: end.kind })
    }
}

impl From<FrameWriter> for FrameBatch {
    fn from(writer: FrameWriter) -> Self {
        let (text, messages) = writer.into_parts();
        Self::new(text.into(), messages)
    }
}

/// The messages of a batch, taken one after the other: a transport whose buffer is full goes on later.
#[derive(Debug, Default)]
pub struct Messages {
    batch: FrameBatch,
    next: usize,
}

impl Messages {
    /// All messages of the batch are still to be taken.
    pub fn new(batch: FrameBatch) -> Self {
        Self { batch, next: 0 }
    }

    /// True if all messages were taken.
    pub fn is_over(&self) -> bool {
        self.batch.message(self.next).is_none()
    }

    /// The next message; None if all were taken.
    #[expect(clippy::should_implement_trait, reason = "the messages borrow from here, which no iterator can")]
    pub fn next(&mut self) -> Option<Message<'_>> {
        let message = self.batch.message(self.next)?;
        self.next += 1;
        Some(message)
    }
}
