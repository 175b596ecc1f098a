//! What was emitted so far to the reader of a turn.

use std::collections::BTreeMap;

use riverrun_event::TaskId;

#[derive(Debug, Clone, Default)]
pub(super) struct Emitted {
    /// The reader is between a beginning and a pause or an end.
    pub(super) is_open: bool,
    pub(super) has_begun: bool,
    pub(super) is_ended: bool,
    pub(super) tasks: BTreeMap<TaskId, EmittedTask>,
    /// By action id: true once its answer was emitted.
    pub(super) actions: BTreeMap<String, bool>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct EmittedTask {
    pub(super) is_started: bool,
    pub(super) is_ended: bool,
    pub(super) items: Vec<EmittedItem>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct EmittedItem {
    pub(super) is_started: bool,
    pub(super) is_done: bool,
    pub(super) is_retracted: bool,
    pub(super) blocks: Vec<EmittedText>,
    pub(super) summary: Vec<EmittedText>,
    pub(super) raw: Vec<EmittedText>,
    pub(super) arguments: EmittedText,
}

#[derive(Debug, Clone, Default)]
pub(super) struct EmittedText {
    pub(super) is_started: bool,
    pub(super) is_done: bool,
    /// A block that is not text has no text to emit.
    pub(super) is_text: bool,
    pub(super) shown: usize,
    pub(super) hash: Hash,
    pub(super) annotations: usize,
}

/// FNV-1a over the bytes that were shown: tells whether a new text begins with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hash(u64);

impl Default for Hash {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hash {
    pub(super) fn add(self, bytes: &[u8]) -> Self {
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        Self(bytes.iter().fold(self.0, step))
    }
}

/// How a text relates to the part that was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Growth {
    Same,
    From(usize),
    Replaced,
}

impl EmittedText {
    /// Records the text as emitted. `is_appended`: the caller knows that it only grew.
    pub(super) fn grow(&mut self, text: &str, is_appended: bool) -> Growth {
        let begins_alike = text.len() >= self.shown
            && (is_appended || Hash::default().add(&text.as_bytes()[..self.shown]) == self.hash);
        if !begins_alike {
            self.shown = text.len();
            self.hash = Hash::default().add(text.as_bytes());
            return Growth::Replaced;
        }
        let from = self.shown;
        self.hash = self.hash.add(&text.as_bytes()[from..]);
        self.shown = text.len();
        if from == text.len() { Growth::Same } else { Growth::From(from) }
    }
}

/// The entry at `position`, with everything before it.
pub(super) fn entry<T: Default>(list: &mut Vec<T>, position: usize) -> &mut T {
    if list.len() <= position {
        list.resize_with(position + 1, T::default);
    }
    &mut list[position]
}
