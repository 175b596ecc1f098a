//! Frames: what a dialect emits, as JSON texts in one shared buffer.

use riverrun_event::Sequence;

/// One unit that a dialect emits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// One JSON value on one line; a marker is not JSON.
    pub json: &'a str,
    /// The `event:` line of dialects that have one; empty otherwise.
    pub name: &'a str,
    /// A word of the byte stream, such as `[DONE]`, that framings with ends of their own leave out.
    pub is_marker: bool,
    /// The event that it comes from. The position of a reader that saw it and all frames before it.
    pub sequence: Sequence,
    /// Its number among the frames of that event, from 0.
    pub part: u32,
    /// The last frame of its event: after it the reader's position is after the event.
    pub is_last: bool,
}

/// Frames in order, in one buffer that is used again and again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frames {
    text: String,
    /// The names that only a service knows, one after the other.
    names: String,
    ends: Vec<End>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct End {
    at: usize,
    name: Name,
    is_marker: bool,
    sequence: Sequence,
    part: u32,
    is_last: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Name {
    Known(&'static str),
    /// A stretch of `Frames::names`.
    Named {
        from: usize,
        to: usize,
    },
}

impl Frames {
    pub fn clear(&mut self) {
        self.text.clear();
        self.names.clear();
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
        self.push_named(sequence, "", write);
    }

    /// Adds a frame with a name for its `event:` line.
    pub fn push_named(&mut self, sequence: Sequence, name: &'static str, write: impl FnOnce(&mut String)) {
        write(&mut self.text);
        self.end(sequence, Name::Known(name), false);
    }

    /// The same with a name from outside this crate. A name that is not a plain word is left out of the `event:` line.
    pub fn push_with_name(&mut self, sequence: Sequence, name: &str, write: impl FnOnce(&mut String)) {
        let from = self.names.len();
        if name.bytes().all(|byte| byte.is_ascii_graphic()) {
            self.names.push_str(name);
        }
        write(&mut self.text);
        self.end(sequence, Name::Named { from, to: self.names.len() }, false);
    }

    /// Adds a word of the byte stream that is not JSON.
    pub fn push_marker(&mut self, sequence: Sequence, word: &str) {
        self.text.push_str(word);
        self.end(sequence, Name::Known(""), true);
    }

    fn end(&mut self, sequence: Sequence, name: Name, is_marker: bool) {
        let part = self.next_part(sequence);
        if let Some(before) = self.ends.last_mut().filter(|before| before.sequence == sequence) {
            before.is_last = false;
        }
        self.ends.push(End { at: self.text.len(), name, is_marker, sequence, part, is_last: true });
    }

    /// The part that the next frame of this event will be.
    pub fn next_part(&self, sequence: Sequence) -> u32 {
        self.ends.last().filter(|last| last.sequence == sequence).map_or(0, |last| last.part + 1)
    }

    pub fn iter(&self) -> impl Iterator<Item = Frame<'_>> {
        let mut from = 0;
        self.ends.iter().map(move |end| {
            let json = &self.text[from..end.at];
            from = end.at;
            Frame {
                json,
                name: match end.name {
                    Name::Known(name) => name,
                    Name::Named { from, to } => &self.names[from..to],
                },
                is_marker: end.is_marker,
                sequence: end.sequence,
                part: end.part,
                is_last: end.is_last,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_frame_name_cannot_add_a_line() {
        let mut frames = Frames::default();
        for name in ["response.new_thing", "a\nid: 7", "", "x y"] {
            frames.push_with_name(Sequence::ZERO, name, |out| out.push_str("{}"));
        }
        let names: Vec<&str> = frames.iter().map(|frame| frame.name).collect();
        assert_eq!(names, ["response.new_thing", "", "", ""]);
    }
}
