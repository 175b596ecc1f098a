//! The part of each session that is in memory: its head and the chunks that are not packed yet.
//!
//! ```text
//!  [ 1 … 900 │ 901 902 903 ]
//!    packed  ^ live         ^ head
//!    in `segments`   in `groups`, and here
//! ```
//!
//! Everything here is committed: the writer publishes after the commit, readers see nothing else.
//! A session that is not here has no live chunks, so its row is complete.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use riverrun_event::{Sequence, SessionId};
use riverrun_log::{Chain, Chunk, LogError, SessionHead, SessionKey, UnixMillis};

pub struct SessionSlot {
    pub number: i64,
    pub key: SessionKey,
    state: Mutex<SlotState>,
}

#[derive(Debug, Clone)]
pub struct SlotState {
    pub head: SessionHead,
    pub updated_at: UnixMillis,
    pub packed: Chain,
    /// In order. A hole between two of them, or before the head, is damage that was found at the start.
    pub live: VecDeque<Live>,
    /// There is such a hole. The session takes no more appends and keeps its groups.
    pub is_damaged: bool,
}

#[derive(Debug, Clone)]
pub struct Live {
    pub chunk: Chunk,
    /// The group that holds it.
    pub group: i64,
}

/// Where a read finds its chunks.
pub enum ReadSource {
    /// These chunks, in full or up to the size asked for.
    Live(Vec<Chunk>),
    /// At least the beginning is packed.
    Packed,
}

impl SessionSlot {
    pub fn new(number: i64, key: SessionKey, state: SlotState) -> Self {
        Self { number, key, state: Mutex::new(state) }
    }

    pub fn lock(&self) -> MutexGuard<'_, SlotState> {
        // Every change is a few assignments that cannot panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SlotState {
    /// True if its row is complete.
    pub fn is_resting(&self) -> bool {
        self.head.last == self.packed.last && self.live.is_empty()
    }

    /// What the chunks take that are not packed yet.
    pub fn live_bytes(&self) -> i64 {
        self.live.iter().map(|live| live.chunk.bytes().len() as i64).sum()
    }

    pub fn find(
        &self,
        after: Sequence,
        max_bytes: usize,
        session: &SessionId,
    ) -> Result<ReadSource, LogError> {
        if after >= self.head.last {
            return Ok(ReadSource::Live(Vec::new()));
        }
        let first_available = self.head.first_available;
        if after.next().is_some_and(|next| next < first_available) {
            return Err(LogError::Retired { first_available });
        }
        if after < self.packed.last {
            return Ok(ReadSource::Packed);
        }
        self.live_after(after, max_bytes, session).map(ReadSource::Live)
    }

    /// The live chunks behind `after`, which is at or past the packed part.
    pub fn live_after(
        &self,
        after: Sequence,
        max_bytes: usize,
        session: &SessionId,
    ) -> Result<Vec<Chunk>, LogError> {
        let begin = self.live.partition_point(|live| live.chunk.last() <= after);
        let mut chunks: Vec<Chunk> = Vec::new();
        let (mut bytes, mut next) = (0, after.next().unwrap_or(Sequence::MAX));
        for live in self.live.range(begin..) {
            let chunk = &live.chunk;
            if chunk.first() > next {
                break;
            }
            bytes += chunk.bytes().len();
            if !chunks.is_empty() && bytes > max_bytes {
                return Ok(chunks);
            }
            next = chunk.last().next().unwrap_or(Sequence::MAX);
            chunks.push(chunk.clone());
        }
        if chunks.is_empty() && after < self.head.last {
            return Err(self.hole(next, session));
        }
        Ok(chunks)
    }

    /// The events from `next` on that should be here and are not.
    fn hole(&self, next: Sequence, session: &SessionId) -> LogError {
        let end = self.live.iter().map(|live| live.chunk.first()).find(|first| *first > next);
        let last = end.map_or(self.head.last, Sequence::previous);
        let what = "their chunk is damaged or missing".to_owned();
        LogError::Corrupt { session: session.clone(), first: next, last, what }
    }

    /// The first damaged range, if there is one.
    pub fn damage(&self, session: &SessionId) -> Option<LogError> {
        let mut next = self.packed.last.next()?;
        for live in &self.live {
            if live.chunk.first() != next {
                return Some(self.hole(next, session));
            }
            next = live.chunk.last().next()?;
        }
        (next <= self.head.last).then(|| self.hole(next, session))
    }
}

#[derive(Default)]
pub struct Slots(RwLock<HashMap<SessionKey, Arc<SessionSlot>>>);

impl Slots {
    pub fn get(&self, key: &SessionKey) -> Option<Arc<SessionSlot>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    pub fn insert(&self, slot: Arc<SessionSlot>) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(slot.key.clone(), slot);
    }

    /// Removes the slot of this session, unless another session with the same key has taken its place.
    pub fn remove(&self, slot: &SessionSlot) {
        let mut slots = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if slots.get(&slot.key).is_some_and(|held| held.number == slot.number) {
            slots.remove(&slot.key);
        }
    }

    /// Removes the slot of this session unless something was written to it since.
    pub fn remove_resting(&self, slot: &SessionSlot) {
        if slot.lock().is_resting() {
            self.remove(slot);
        }
    }

    /// Gives back the room of sessions that went.
    pub fn shrink(&self) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).shrink_to_fit();
    }

    pub fn all(&self) -> Vec<Arc<SessionSlot>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// Drops the sessions whose rows are complete.
    pub fn forget_idle(&self) {
        let mut slots = self.0.write().unwrap_or_else(PoisonError::into_inner);
        slots.retain(|_, slot| !slot.lock().is_resting());
        slots.shrink_to_fit();
    }
}
