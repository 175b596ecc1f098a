use std::time::Duration;

use riverrun_event::OwnerId;

use crate::{Lease, LogTicket, SessionKey, Shard, ShardState};

/// Who may append: the sessions of a store are divided into shards, and each shard has one lease.
///
/// ```text
///  shard 0   epoch 1        epoch 2                 epoch 3
///           ├─ owner A ────┼─ owner B ─────────────┼─ owner C ──▶
///             renew renew    ^ acquire: from here on an append of A answers `Fenced`, whatever the clocks say
///  shard 1   epoch 1
///           ├─ owner A ─────────────────────────────────────────▶   not affected
/// ```
///
/// - **The fence is the epoch.** Every append carries the epoch of its session's shard. An append with another epoch
///   than the newest answers `Fenced`, from the moment `acquire` of the newer one has resolved, at every instance.
/// - **Epochs are per shard**, begin at 1, and never repeat, also after a restart.
/// - **Time is the engine's.** Whether a lease is still running is decided by the engine's clock, never by a caller's,
///   so two instances always agree. The time of a lease only says when another owner may try.
/// - **The number of shards belongs to the store.** It is the same at every instance and does not change while the
///   store is open.
pub trait ShardLeases: Send + Sync {
    /// How many shards the store has: one at least.
    fn shard_count(&self) -> u16;

    /// The shard of a session: always the same one, whether the session exists or not.
    fn shard_of(&self, key: &SessionKey) -> Shard {
        Shard::of(key, self.shard_count())
    }

    /// All shards in order, each with its newest epoch and the lease that is running.
    fn shards(&self) -> LogTicket<Vec<ShardState>>;

    /// Takes a shard with a new, higher epoch. `LeaseHeld` while another owner's lease is running; the same owner
    /// may acquire again at any time, which fences its former self. An engine that knows the former owner to be
    /// dead (it holds the lock of the data directory) need not wait for the lease to expire. `NotFound` if the store
    /// has no such shard.
    fn acquire(&self, shard: Shard, owner: &OwnerId, ttl: Duration) -> LogTicket<Lease>;

    /// Extends a lease. `Fenced` if a newer epoch exists; an expired one that nobody took is extended.
    fn renew(&self, lease: &Lease, ttl: Duration) -> LogTicket<Lease>;

    /// Lets others acquire at once. Releasing a stale lease changes nothing.
    fn release(&self, lease: &Lease) -> LogTicket<()>;
}
