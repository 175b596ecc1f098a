//! One append: a chunk and everything that must become true with it.

use riverrun_event::{ProducerId, Sequence};

use crate::{Chunk, CommandChange, Epoch, Fact, IdempotencyRecord, Link, SessionKey};

/// A chunk and what commits with it. All of it becomes durable and visible together, or none.
#[derive(Debug, Clone)]
pub struct Append {
    pub key: SessionKey,
    /// Which of the sessions that ever had this key it is for. None is for any: of one who cannot be late.
    pub incarnation: Option<u32>,
    pub epoch: Epoch,
    pub chunk: Chunk,
    pub producer: Option<ProducerStamp>,
    pub facts: Vec<Fact>,
    pub commands: Vec<CommandChange>,
    pub idempotency: Vec<IdempotencyRecord>,
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
    #[default]
    Normal,
    /// Cancels, decisions and terminal events: what ends work rather than makes more.
    Reserved,
}

/// A producer's name for its append. The same stamp is stored once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProducerStamp {
    pub id: ProducerId,
    pub epoch: u64,
    /// From 0 in each epoch, one higher with each append.
    pub sequence: u64,
}

/// The newest stamp of a producer in a session and where it landed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProducerState {
    pub epoch: u64,
    pub sequence: u64,
    pub first: Sequence,
    pub last: Sequence,
}

/// A durable append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    pub first: Sequence,
    pub last: Sequence,
    pub link: Link,
    /// True if this very chunk was there before; nothing was written and no listener was called again.
    pub duplicate: bool,
}

/// What a listener is told: a chunk that is durable now.
#[derive(Debug, Clone)]
pub struct Committed {
    pub key: SessionKey,
    pub chunk: Chunk,
}

/// Called after each commit with its chunks, in commit order, before the tickets of the commit resolve.
/// It runs on the committing thread: it must not block and must not call the log.
pub type Listener = std::sync::Arc<dyn Fn(&[Committed]) + Send + Sync>;
