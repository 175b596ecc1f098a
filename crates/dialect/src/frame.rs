//! Frames: what a dialect emits, as JSON texts in one shared buffer.

use riverrun_event::Sequence;

/// One unit that a dialect emits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// One JSON value on one line.
    pub json: &'a str,
    /// The event that it comes from. A reader that saw it, and all frames before it, stands here.
    pub sequence: Sequence,
    /// Its number among the frames of that event, from 0.
    pub part: u32,
    /// The last frame of its event: behind it the reader stands after the event.
    pub is_last: bool,
}

/// Frames in order, in one buffer that is used again and again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frames {
    text: String,
    ends: Vec<End>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct End {
    at: usize,
    sequence: Sequence,
    part: u32,
    is_last: bool,
}

impl Frames {
    pub fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Bytes of JSON so far.
    pub fn size(&self) -> usize {
        self.text.len()
    }

    /// Adds a frame of event `sequence`; frames of one event are added one after the other.
    pub fn push(&mut self, sequence: Sequence, write: impl FnOnce(&mut String)) {
        let part = match self.ends.last_mut() {
            Some(before) if before.sequence == sequence => {
                before.is_last = false;
                before.part + 1
            }
            Some(_) | None => 0,
        };
        write(&mut self.text);
        self.ends.push(End { at: self.text.len(), sequence, part, is_last: true });
    }

    pub fn iter(&self) -> impl Iterator<Item = Frame<'_>> {
        let mut from = 0;
        self.ends.iter().map(move |end| {
            let json = &self.text[from..end.at];
            from = end.at;
            Frame { json, sequence: end.sequence, part: end.part, is_last: end.is_last }
        })
    }
}
