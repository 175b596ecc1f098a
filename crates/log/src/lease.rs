//! Who may append, and how a stale owner is kept out.

use std::fmt;

use riverrun_event::OwnerId;

use crate::Timestamp;

/// A part of all sessions that is leased as one. The embedded engines have exactly one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Shard(pub u16);

impl Shard {
    /// The shard of an engine that has no others.
    pub const ONLY: Shard = Shard(0);
}

/// Counts the owners of a shard. Every acquire makes a higher one; the highest alone may append.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Epoch(pub u64);

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The right to append to the sessions of a shard.
///
/// Its time only tells others when they may try to take over. The fence is the epoch in every append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    pub shard: Shard,
    pub epoch: Epoch,
    pub owner: OwnerId,
    pub expires: Timestamp,
}
