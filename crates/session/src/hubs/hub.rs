//! One session in use.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::task::Waker;

use riverrun_dialect::{FrameWriter, Frames, Framing, MessageEnd, MessageKind, Projector, surround};
use riverrun_event::{
    Composer, Composing, Cursor, CursorOrigin, IdOrigin, Record, RecordBytes, Sequence, SessionId,
};
use riverrun_log::{Chunk, SessionHead, SessionKey};

use super::authors::Hosted;
use super::ring::{Found, Projected, Recent, Ring, SharedKey};
use super::stamp::Stamp;
use super::wakers::{Slot, Wakers};
use crate::frame_batch::FrameBatch;
use crate::lock::lock;

/// Bytes after which a session gets a snapshot even in the middle of a turn: as many as a reader folds in a few
/// milliseconds. A large state waits for as many bytes as its snapshot has, so that snapshots cost no more than the
/// events they stand for. A session that rests gets one sooner, and so does one whose readers wait for it.
pub const SNAPSHOT_BYTES: u64 = 2 * 1024 * 1024;

/// What a session's readers and its appends share. It holds no event that is not durable.
pub struct Hub {
    /// The session's key.
    pub key: SessionKey,
    /// The last committed event.
    head: AtomicU64,
    ring: Mutex<Ring>,
    wakers: Wakers,
    /// Where the next chunk goes; None when it must be asked of the log.
    pub(super) owner: tokio::sync::Mutex<Option<SessionHead>>,
    pub(super) stamp: Stamp,
    /// What is run here. Changed with the owner held.
    pub(super) hosted: Mutex<Hosted>,
    /// Held while a command on a task looks where it stands and says where it goes.
    pub task_commands: tokio::sync::Mutex<()>,
    /// Held while what is said about the session is read, changed and said again.
    pub describing: tokio::sync::Mutex<()>,
    /// Held while upkeep stores what it made of the log: a session is not deleted below it.
    pub(crate) tending: tokio::sync::Mutex<()>,
    /// Held while a turn is put behind another one, here or in a branch.
    pub branching: tokio::sync::Mutex<()>,
    identity: OnceLock<Identity>,
    /// Projectors that stand at the end of the ring, one for each kind of reader.
    shared: Mutex<HashMap<SharedKey, Box<dyn Projector>>>,
    followers: AtomicUsize,
    gone: AtomicBool,
    /// True while it stands in line to have its readers woken.
    pub(super) wake_queued: AtomicBool,
    /// Bytes that were appended since upkeep last looked here, and how many make it look again.
    pub(crate) since_upkeep: AtomicU64,
    pub(crate) upkeep_after: AtomicU64,
    pub(crate) last_used: AtomicU64,
    pub(crate) last_appended: AtomicU64,
}

/// What is fixed once the session is known to exist.
struct Identity {
    incarnation: u32,
    /// How events from before a restore got their ids.
    origins: Vec<IdOrigin>,
    origin: CursorOrigin,
    composer: Composer,
}

impl Hub {
    pub(super) fn new(key: SessionKey) -> Self {
        Self {
            key,
            head: AtomicU64::new(0),
            ring: Mutex::default(),
            wakers: Wakers::default(),
            owner: tokio::sync::Mutex::new(None),
            stamp: Stamp::default(),
            hosted: Mutex::default(),
            task_commands: tokio::sync::Mutex::new(()),
            describing: tokio::sync::Mutex::new(()),
            tending: tokio::sync::Mutex::new(()),
            branching: tokio::sync::Mutex::new(()),
            identity: OnceLock::new(),
            shared: Mutex::default(),
            followers: AtomicUsize::new(0),
            gone: AtomicBool::new(false),
            wake_queued: AtomicBool::new(false),
            since_upkeep: AtomicU64::new(0),
            upkeep_after: AtomicU64::new(SNAPSHOT_BYTES),
            last_used: AtomicU64::new(0),
            last_appended: AtomicU64::new(0),
        }
    }

    /// Told once the log was asked. Commits that came in between are counted already.
    pub(super) fn loaded(&self, head: &SessionHead, origins: Vec<IdOrigin>) {
        let session = &self.key.session;
        self.identity.get_or_init(|| Identity {
            incarnation: head.incarnation,
            origin: CursorOrigin::new(session, head.incarnation),
            composer: Composer::with_origins(session, head.incarnation, &origins),
            origins,
        });
        self.head.fetch_max(head.last.get(), Ordering::AcqRel);
    }

    pub(super) fn is_loaded(&self) -> bool {
        self.identity.get().is_some()
    }

    fn identity(&self) -> &Identity {
        self.identity.get().expect("a hub is handed out only after it was loaded")
    }

    /// The session's id.
    pub fn session(&self) -> &SessionId {
        &self.key.session
    }

    /// The incarnation of the session's log.
    pub fn incarnation(&self) -> u32 {
        self.identity().incarnation
    }

    /// The session as dialects know it.
    pub fn dialect_session(&self) -> riverrun_dialect::registry::ProjectedSession<'_> {
        let Identity { incarnation, origins, .. } = self.identity();
        riverrun_dialect::registry::ProjectedSession {
            id: self.session(),
            incarnation: *incarnation,
            origins,
        }
    }

    /// The origin of cursors into this log.
    pub fn origin(&self) -> CursorOrigin {
        self.identity().origin
    }

    /// Writes the wire form of the session's events.
    pub fn composer(&self) -> &Composer {
        &self.identity().composer
    }

    /// The last committed event.
    pub fn head(&self) -> Sequence {
        Sequence::new(self.head.load(Ordering::Acquire)).unwrap_or(Sequence::MAX)
    }

    /// Called on the committing thread, in commit order.
    pub(super) fn committed(&self, chunk: &Chunk) {
        if self.followers.load(Ordering::Acquire) > 0 {
            lock(&self.ring).push(chunk.clone());
        } else {
            lock(&self.ring).clear();
        }
        self.head.fetch_max(chunk.last().get(), Ordering::AcqRel);
    }

    /// True if the store must be read to go on behind `after`.
    pub fn is_behind(&self, after: Sequence) -> bool {
        matches!(self.recent_after(after, 0), Found::Behind)
    }

    /// Recent chunks behind `after`, of about `max_bytes`.
    pub fn recent_after(&self, after: Sequence, max_bytes: usize) -> Found {
        let ring = lock(&self.ring);
        ring.after(after, self.head(), max_bytes)
    }

    pub(super) fn waiting_readers(&self) -> usize {
        self.wakers.places()
    }

    /// Wakes this waker with the next commit. The slot is the reader's own.
    pub fn wait(&self, slot: &mut Slot, waker: &Waker) {
        self.wakers.register(slot, waker);
    }

    /// Gives the slot back.
    pub fn stop_waiting(&self, slot: &mut Slot) {
        self.wakers.release(slot);
    }

    /// Resolves when the log is longer than this, or something else woke the readers: look again.
    pub async fn woken(&self, after: Sequence) {
        let mut place = Waiting { hub: self, slot: Slot::default(), is_in: false };
        std::future::poll_fn(|context| {
            let woken = std::mem::replace(&mut place.is_in, true);
            place.hub.wait(&mut place.slot, context.waker());
            match woken || place.hub.head() > after {
                true => std::task::Poll::Ready(()),
                false => std::task::Poll::Pending,
            }
        })
        .await;
    }

    /// How many streams follow the session.
    pub fn followers(&self) -> usize {
        self.followers.load(Ordering::Acquire)
    }

    pub(crate) fn follower_came(&self) {
        self.followers.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn follower_left(&self) {
        if self.followers.fetch_sub(1, Ordering::AcqRel) == 1 {
            lock(&self.shared).clear();
            // Who comes next reads the store; a session may stay in memory long after its last reader.
            lock(&self.ring).clear();
        }
    }

    /// The session was deleted.
    pub fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }

    /// False if it was gone before.
    pub(super) fn set_gone(&self) -> bool {
        let is_first = !self.gone.swap(true, Ordering::AcqRel);
        self.wakers.wake_all();
        is_first
    }

    /// Wakes every reader: the server is going.
    pub fn wake_all(&self) {
        self.wakers.wake_all();
    }

    /// The frames of a recent chunk for readers of this kind, made at most once. None if no shared projector
    /// stands before the chunk: the reader then uses its own.
    pub fn shared_frames(&self, key: &SharedKey, recent: &Recent) -> Option<Projected> {
        if key.dialect.is_verbatim() {
            let batch = recent.native(key.framing, |chunk| {
                self.native_frames(key.framing, std::slice::from_ref(chunk), Sequence::ZERO)
            });
            return Some(Projected { batch, is_over: false });
        }
        if let Some(known) = recent.projected(key) {
            return Some(known);
        }
        let mut shared = lock(&self.shared);
        if let Some(known) = recent.projected(key) {
            return Some(known);
        }
        let projector = shared.get_mut(key)?;
        if projector.sequence().next() != Some(recent.chunk.first()) {
            return None;
        }
        let Some(frames) = project(projector.as_mut(), &recent.chunk, key.framing, self.origin()) else {
            shared.remove(key);
            return None;
        };
        recent.put_projected(*key, frames.clone());
        Some(frames)
    }

    /// Takes a reader's projector for all readers of its kind, if it is further on than the present one.
    pub fn share(&self, key: SharedKey, projector: Box<dyn Projector>) -> Result<(), Box<dyn Projector>> {
        let mut shared = lock(&self.shared);
        match shared.get(&key) {
            Some(known) if known.sequence() >= projector.sequence() => Err(projector),
            Some(_) | None => {
                shared.insert(key, projector);
                Ok(())
            }
        }
    }

    /// True if a projector that stands at `at` is there for readers of this kind.
    pub fn shares_at(&self, key: &SharedKey, at: Sequence) -> bool {
        key.dialect.is_verbatim() || lock(&self.shared).get(key).is_some_and(|known| known.sequence() >= at)
    }

    /// The native frames of the events of these chunks behind `after`.
    pub fn native_frames(&self, framing: Framing, chunks: &[Chunk], after: Sequence) -> FrameBatch {
        let Identity { origin, composer, .. } = self.identity();
        let size = |chunk: &Chunk| chunk.bytes().len() + 220 * chunk.count() as usize;
        let mut out = Vec::with_capacity(chunks.iter().map(size).sum());
        let mut messages = Vec::new();
        let mut composing = Composing::new(composer, surround(framing, *origin));
        for (sequence, bytes) in chunks.iter().flat_map(|chunk| chunk.records_after(after)) {
            let Ok(record) = RecordBytes::read(bytes) else { continue };
            composing.write(&record, sequence, &mut out);
            if framing == Framing::Messages {
                let cursor = Cursor::after(sequence, *origin);
                messages.push(MessageEnd { at: out.len(), kind: MessageKind::Frame(Some(cursor)) });
            }
        }
        FrameBatch::new(out.into(), messages)
    }
}

/// Somebody who waits for the next wake; leaves its place when it is dropped.
struct Waiting<'a> {
    hub: &'a Hub,
    slot: Slot,
    is_in: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.hub.stop_waiting(&mut self.slot);
    }
}

/// None if the dialect's stream ends inside the chunk: some readers end there and others go on.
fn project(
    projector: &mut dyn Projector,
    chunk: &Chunk,
    framing: Framing,
    origin: CursorOrigin,
) -> Option<Projected> {
    let (mut frames, mut out, mut is_over) = (Frames::default(), FrameWriter::new(framing), false);
    for (sequence, bytes) in chunk.records_after(projector.sequence()) {
        if is_over {
            return None;
        }
        let Ok(record) = Record::read(bytes) else { continue };
        let Ok(event) = record.to_event(sequence) else { continue };
        frames.clear();
        projector.event(&record, &event, &mut frames);
        for frame in frames.iter() {
            out.frame(origin, &frame);
        }
        is_over = projector.is_over();
    }
    Some(Projected { batch: out.into(), is_over })
}
