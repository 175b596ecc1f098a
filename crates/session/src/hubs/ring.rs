//! The recent chunks of a session, with frames that are encoded once and shared.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use riverrun_dialect::{Dialect, Framing, ReaderOptions};
use riverrun_event::Sequence;
use riverrun_log::Chunk;

use crate::frame_batch::FrameBatch;

/// Chunk bytes that a session keeps in memory while somebody follows it.
const RING_BYTES: usize = 1 << 20;
/// A chunk of one delta is small beside its frames, so their number is limited too: a third of a second of a fast model.
/// What a reader's socket takes is gone from here at once, and memory that is used again soon is still in the cache.
const RING_CHUNKS: usize = 64;

/// Readers with the same key get the same bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SharedKey {
    /// The wire format.
    pub dialect: Dialect,
    /// How frames are written.
    pub framing: Framing,
    /// What the reader chose.
    pub options: ReaderOptions,
}

/// The frames of a chunk, and whether the dialect's stream ends with them.
#[derive(Debug, Clone)]
pub struct Projected {
    /// The frames.
    pub batch: FrameBatch,
    /// True if the dialect's stream ends with them.
    pub is_over: bool,
}

/// A recent chunk and the frames that were made of it.
#[derive(Debug)]
pub struct Recent {
    /// The chunk.
    pub chunk: Chunk,
    sse: OnceLock<FrameBatch>,
    ndjson: OnceLock<FrameBatch>,
    messages: OnceLock<FrameBatch>,
    other: std::sync::Mutex<Vec<(SharedKey, Projected)>>,
}

impl Recent {
    fn new(chunk: Chunk) -> Self {
        Self {
            chunk,
            sse: OnceLock::new(),
            ndjson: OnceLock::new(),
            messages: OnceLock::new(),
            other: Default::default(),
        }
    }

    /// Native frames follow from the chunk alone.
    pub fn native(&self, framing: Framing, encode: impl FnOnce(&Chunk) -> FrameBatch) -> FrameBatch {
        let cell = match framing {
            Framing::Sse => &self.sse,
            Framing::Ndjson => &self.ndjson,
            Framing::Messages => &self.messages,
            // Nobody reads native frames so; there is nothing to share.
            Framing::ForeignSse | Framing::ForeignSseWithIds => return encode(&self.chunk),
        };
        cell.get_or_init(|| encode(&self.chunk)).clone()
    }

    /// Frames that a shared projector made.
    pub fn projected(&self, key: &SharedKey) -> Option<Projected> {
        let known = crate::lock::lock(&self.other);
        known.iter().find(|(other, _)| other == key).map(|(_, frames)| frames.clone())
    }

    /// Shares frames with later readers of this kind.
    pub fn put_projected(&self, key: SharedKey, frames: Projected) {
        crate::lock::lock(&self.other).push((key, frames));
    }
}

/// ```text
///   store   [ 1 … 40 | 41 | 42 43 | 44 ]
///   ring             [ 41 | 42 43 | 44 ]   a reader after 40 or later is served from here
/// ```
#[derive(Debug, Default)]
pub struct Ring {
    recent: VecDeque<Arc<Recent>>,
    bytes: usize,
}

/// What the ring has for a reader.
pub enum Found {
    /// The chunks behind the reader's place, in order.
    Chunks(Vec<Arc<Recent>>),
    /// The reader is at the head, or the ring is empty.
    Nothing,
    /// The reader must read the store first.
    Behind,
}

impl Ring {
    pub fn push(&mut self, chunk: Chunk) {
        let follows = self.recent.back().is_none_or(|last| last.chunk.last().next() == Some(chunk.first()));
        if !follows {
            // A hole would be a silent gap: begin anew.
            self.clear();
        }
        self.bytes += chunk.bytes().len();
        self.recent.push_back(Arc::new(Recent::new(chunk)));
        while self.bytes > RING_BYTES && self.recent.len() > 1 || self.recent.len() > RING_CHUNKS {
            let Some(old) = self.recent.pop_front() else { break };
            self.bytes -= old.chunk.bytes().len();
        }
    }

    pub fn clear(&mut self) {
        self.recent.clear();
        self.bytes = 0;
    }

    /// Chunks behind `after`, at most about `max_bytes` of them.
    pub fn after(&self, after: Sequence, head: Sequence, max_bytes: usize) -> Found {
        if after >= head {
            return Found::Nothing;
        }
        let Some(first) = self.recent.front() else { return Found::Behind };
        if after.next().is_none_or(|next| next < first.chunk.first()) {
            return Found::Behind;
        }
        // Nearly every reader lacks the newest alone.
        let behind = self.recent.iter().rev().take_while(|recent| recent.chunk.last() > after).count();
        let from = self.recent.len() - behind;
        let (mut chunks, mut bytes) = (Vec::new(), 0);
        for recent in self.recent.range(from..) {
            if bytes >= max_bytes {
                break;
            }
            bytes += recent.chunk.bytes().len();
            chunks.push(Arc::clone(recent));
        }
        Found::Chunks(chunks)
    }
}
