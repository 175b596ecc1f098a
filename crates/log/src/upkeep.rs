//! Upkeep of a log: sealing, checking, sizes, health.

use riverrun_event::{Sequence, TenantId};

use crate::{SessionKey, UnixMillis};

/// What sealing a range did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sealed {
    /// Chunks that were packed.
    pub chunks: u64,
    /// Events in them.
    pub events: u64,
    /// Their bytes before.
    pub bytes_before: u64,
    /// Their bytes now.
    pub bytes_after: u64,
}

/// The result of reading everything that is stored.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verification {
    /// Sessions that were read.
    pub sessions: u64,
    /// Chunks that were read.
    pub chunks: u64,
    /// Events that were read.
    pub events: u64,
    /// Snapshots that were read.
    pub snapshots: u64,
    /// Blobs that were read.
    pub blobs: u64,
    /// Every defect that was found, in the order of the sessions. Empty means sound.
    pub defects: Vec<Defect>,
}

/// Something stored that is not what was committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defect {
    /// None for what belongs to no session.
    pub key: Option<SessionKey>,
    /// The events concerned, if it is about events.
    pub range: Option<(Sequence, Sequence)>,
    /// What is wrong.
    pub what: String,
}

/// What the store holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Sessions.
    pub sessions: u64,
    /// Events that can be read.
    pub events: u64,
    /// What the events take in the store, sealed or not.
    pub event_bytes: u64,
    /// Bytes of blobs.
    pub blob_bytes: u64,
    /// What the files of the store take in all.
    pub disk_bytes: u64,
}

/// Which finished sessions hold nothing but old events, oldest made first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpiredQuery {
    /// None for all tenants.
    pub tenant: Option<TenantId>,
    /// Sessions whose last event is before this.
    pub before: UnixMillis,
    /// Most sessions of one answer.
    pub limit: usize,
}

/// A finished session whose events are old: it has events, and no open turn, no open action and no pending command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expired {
    /// The session.
    pub key: SessionKey,
    /// When its last event was appended.
    pub updated_at: UnixMillis,
    /// Events that can still be read.
    pub events: u64,
}

/// Whether a log takes appends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogHealth {
    /// Appends are taken.
    Ready,
    /// Reads, deletes and reserved appends work; others answer `Full` until space is freed.
    Full,
    /// Poisoned. Reads may work; the store must be opened again.
    Failed(String),
}
