//! One session: its head, a ring of recent frames, and where older frames lie in the file.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};
use tokio::sync::watch;

use crate::journal::CeilingJournal;

/// Chunks the ring keeps; older ones are read from the file.
const RING: usize = 1024;
/// Most bytes one read of the file returns.
const SPAN: u64 = 256 * 1024;

pub struct CeilingSession {
    tail: Mutex<Tail>,
    head: watch::Sender<u64>,
}

/// The frames of one session in one commit group.
pub struct FrameChunk {
    pub first: u64,
    pub last: u64,
    /// Where the frames lie in the file.
    pub offset: u64,
    pub frames: Bytes,
}

#[derive(Default)]
struct Tail {
    ring: VecDeque<FrameChunk>,
    /// Every chunk of the session, in order: last sequence, file offset, length.
    extents: Vec<(u64, u64, u32)>,
}

impl CeilingSession {
    pub fn new() -> Self {
        Self { tail: Mutex::default(), head: watch::Sender::new(0) }
    }

    pub fn head(&self) -> u64 {
        *self.head.borrow()
    }

    pub fn follow(&self) -> watch::Receiver<u64> {
        self.head.subscribe()
    }

    /// Makes a durable chunk visible and wakes the subscribers; `journal` says whether old chunks
    /// can leave memory.
    pub fn publish(&self, chunk: FrameChunk, journal: &CeilingJournal) {
        let last = chunk.last;
        let mut tail = self.tail();
        if journal.is_on_disk() {
            tail.extents.push((last, chunk.offset, chunk.frames.len() as u32));
            if tail.ring.len() == RING {
                tail.ring.pop_front();
            }
        }
        tail.ring.push_back(chunk);
        drop(tail);
        self.head.send_replace(last);
    }

    /// Frames after sequence `after`, in order, with the last sequence among them; none at the head.
    pub fn read(&self, after: u64, journal: &CeilingJournal) -> Option<(u64, Bytes)> {
        let tail = self.tail();
        match tail.ring.front() {
            Some(oldest) if after + 1 < oldest.first => tail.read_file(after, journal),
            Some(_) => tail.read_ring(after),
            None => None,
        }
    }

    fn tail(&self) -> MutexGuard<'_, Tail> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tail {
    /// Several chunks that wait become one buffer, because a delivery costs what its write costs.
    fn read_ring(&self, after: u64) -> Option<(u64, Bytes)> {
        let from = self.ring.partition_point(|chunk| chunk.last <= after);
        let chunk = self.ring.get(from)?;
        let mut last = chunk.last;
        let mut frames = skip(chunk.frames.clone(), chunk.first, after);
        if from + 1 < self.ring.len() {
            let mut joined = BytesMut::from(frames);
            for chunk in self.ring.iter().skip(from + 1) {
                if joined.len() as u64 >= SPAN {
                    break;
                }
                joined.extend_from_slice(&chunk.frames);
                last = chunk.last;
            }
            frames = joined.freeze();
        }
        Some((last, frames))
    }

    /// Reads one span of the file and keeps the extents of this session in it.
    fn read_file(&self, after: u64, journal: &CeilingJournal) -> Option<(u64, Bytes)> {
        let from = self.extents.partition_point(|extent| extent.0 <= after);
        let extents = self.extents.get(from..)?;
        let start = extents.first()?.1;
        let fits = |extent: &&(u64, u64, u32)| extent.1 + u64::from(extent.2) <= start + SPAN;
        let within = extents.iter().take_while(fits).count().max(1);
        let &(last, offset, length) = extents.get(within - 1)?;
        let span = journal.read(start, (offset + u64::from(length) - start) as usize)?;
        let mut frames = BytesMut::with_capacity(span.len());
        for &(_, offset, length) in &extents[..within] {
            let at = (offset - start) as usize;
            frames.extend_from_slice(&span[at..at + length as usize]);
        }
        let first = from.checked_sub(1).map_or(1, |before| self.extents[before].0 + 1);
        Some((last, skip(frames.freeze(), first, after)))
    }
}

/// Drops the frames up to `after` from frames that begin with sequence `first`.
fn skip(mut frames: Bytes, first: u64, after: u64) -> Bytes {
    for _ in first..=after {
        let Some(end) = memchr::memmem::find(&frames, b"\n\n") else { break };
        frames = frames.slice(end + 2..);
    }
    frames
}
