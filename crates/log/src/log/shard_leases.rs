use std::time::Duration;

use riverrun_event::OwnerId;

use crate::{Lease, SessionKey, Shard, Ticket};

/// Who may append: one lease for each shard of the sessions.
///
/// ```text
///  epoch 1        epoch 2                 epoch 3
/// ├─ owner A ────┼─ owner B ─────────────┼─ owner C ──▶
///   renew renew    ^ acquire: from here on an append of A answers `Fenced`, whatever the clocks say
/// ```
///
/// The fence is the epoch, which every append carries. The time of a lease only says when another owner may try.
pub trait ShardLeases: Send + Sync {
    fn shard_of(&self, key: &SessionKey) -> Shard;

    /// Takes the shard with a new, higher epoch. `LeaseHeld` while another owner's lease runs; the same owner
    /// may acquire again at any time, which fences its former self. An engine that knows the former owner to be
    /// dead (it holds the lock of the data directory) need not wait for the time to pass.
    fn acquire(&self, shard: Shard, owner: &OwnerId, ttl: Duration) -> Ticket<Lease>;

    /// Extends a lease. `Fenced` if a newer epoch exists; an expired one that nobody took is extended.
    fn renew(&self, lease: &Lease, ttl: Duration) -> Ticket<Lease>;

    /// Lets others acquire at once. Releasing a stale lease changes nothing.
    fn release(&self, lease: &Lease) -> Ticket<()>;
}
