//! Who may append, and how a stale owner is kept out.

use std::fmt;

use riverrun_event::OwnerId;

use crate::{SessionKey, UnixMillis};

/// A part of the sessions of a store that is leased as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Shard(pub u16);

impl Shard {
    /// Every shard of a store with so many, in order.
    pub fn all(count: u16) -> impl Iterator<Item = Self> {
        (0..count).map(Self)
    }

    /// The shard of a session in a store with so many shards. Stores depend on it: it never changes.
    pub fn of(key: &SessionKey, count: u16) -> Self {
        if count <= 1 {
            return Self(0);
        }
        let mut hash = crc32fast::Hasher::new();
        hash.update(key.tenant.as_str().as_bytes());
        // No id contains this byte, so two pairs of names never run into each other.
        hash.update(&[0]);
        hash.update(key.session.as_str().as_bytes());
        // Less than `count`, which fits.
        Self((hash.finalize() % u32::from(count)) as u16)
    }
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
    /// The shard that is leased.
    pub shard: Shard,
    /// The epoch that appends to the shard carry.
    pub epoch: Epoch,
    /// Who holds it.
    pub owner: OwnerId,
    /// When another owner may take the shard, by the engine's clock.
    pub expires: UnixMillis,
}

/// A shard as the engine sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardState {
    /// The shard.
    pub shard: Shard,
    /// The newest epoch, zero if nobody ever acquired the shard.
    pub epoch: Epoch,
    /// The lease that is running by the engine's clock. None: the shard can be acquired by anybody.
    pub lease: Option<Lease>,
}

/// Which open work is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkScope {
    /// That of all sessions of a shard, which is what its new owner must take care of.
    Shard(Shard),
    /// That of one session.
    Session(SessionKey),
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A store that was divided must find its sessions again.
    #[test]
    fn the_shard_of_a_session_never_changes() {
        let shard = |tenant: &str, session: &str, count| {
            let key = SessionKey::new(tenant.parse().unwrap(), session.parse().unwrap());
            Shard::of(&key, count).0
        };
        let names = [("acme", "s_1"), ("acme", "s_2"), ("default", "s_1"), ("ac", "me")];
        assert_eq!(names.map(|(tenant, session)| shard(tenant, session, 256)), [37, 159, 99, 48]);
        assert_eq!(names.map(|(tenant, session)| shard(tenant, session, 4)), [1, 3, 3, 0]);
        assert_eq!(names.map(|(tenant, session)| shard(tenant, session, 1)), [0, 0, 0, 0]);
    }
}
