//! One append: a chunk and everything that must become true with it.

use riverrun_event::{ProducerId, Sequence};

use crate::{Chunk, CommandChange, Epoch, Fact, IdempotencyRecord, Link, SessionKey};

/// A chunk and what commits with it. All of it becomes durable and visible together, or none.
#[derive(Debug, Clone)]
pub struct Append {
    /// The session.
    pub key: SessionKey,
    /// Which of the sessions that ever had this key it is for. None is for any: of one who cannot be late.
    pub incarnation: Option<u32>,
    /// The epoch of the owner that appends.
    pub epoch: Epoch,
    /// The events.
    pub chunk: Chunk,
    /// The producer's stamp, which makes the append idempotent.
    pub producer: Option<AppendStamp>,
    /// What changes in the catalogue.
    pub facts: Vec<Fact>,
    /// What becomes of commands.
    pub commands: Vec<CommandChange>,
    /// Answers to remember.
    pub idempotency: Vec<IdempotencyRecord>,
    /// Whether it may use reserved space.
    pub urgency: Urgency,
}

impl Append {
    /// A chunk with nothing beside it.
    pub fn new(key: SessionKey, epoch: Epoch, chunk: Chunk) -> Self {
        Self {
            key,
            incarnation: None,
            epoch,
            chunk,
            producer: None,
            facts: Vec::new(),
            commands: Vec::new(),
            idempotency: Vec::new(),
            urgency: Urgency::Normal,
        }
    }
}

/// Who may use the space that is kept back for a full disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Urgency {
    /// Refused on a full disk.
    #[default]
    Normal,
    /// Cancels, decisions and terminal events: what ends work rather than makes more.
    Reserved,
}

/// A producer's name for its append. The same stamp is stored once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppendStamp {
    /// The producer.
    pub id: ProducerId,
    /// Raised by a producer that starts anew; older epochs are refused.
    pub epoch: u64,
    /// From 0 in each epoch, one higher with each append.
    pub sequence: u64,
}

/// The newest stamp of a producer in a session and where it landed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProducerState {
    /// The newest epoch of the producer.
    pub epoch: u64,
    /// The newest number of the producer in this epoch.
    pub sequence: u64,
    /// The first event of that append.
    pub first: Sequence,
    /// The last event of that append.
    pub last: Sequence,
}

/// A durable append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DurableAppend {
    /// The first event.
    pub first: Sequence,
    /// The last event.
    pub last: Sequence,
    /// The hash of the chunk, which the next one names.
    pub link: Link,
    /// True if this very chunk was there before; nothing was written and no listener was called again.
    pub duplicate: bool,
}

/// A listener's notification: a chunk that is durable now.
#[derive(Debug, Clone)]
pub struct Committed {
    /// The session.
    pub key: SessionKey,
    /// The chunk that is durable now.
    pub chunk: Chunk,
}

/// Called after each commit with its chunks, in commit order, before the tickets of the commit resolve.
/// It runs on the committing thread: it must not block and must not call the log.
pub type Listener = std::sync::Arc<dyn Fn(&[Committed]) + Send + Sync>;
