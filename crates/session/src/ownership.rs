//! Who owns the sessions of a log: one lease for each shard, acquired before anything is appended and renewed for as
//! long as the owner lives.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use riverrun_event::OwnerId;
use riverrun_log::{Epoch, Lease, Log, LogError, Random, Shard};

use crate::lock::lock;

const LEASE_TIME: Duration = Duration::from_secs(10);
/// How often the leases are renewed.
pub const RENEW_EVERY: Duration = Duration::from_secs(3);

/// The shards that this process owns.
pub struct Ownership {
    /// The epoch that appends to each shard carry; zero, which no shard has, before it was acquired.
    epochs: Vec<AtomicU64>,
    leases: Mutex<BTreeMap<Shard, Lease>>,
}

impl Ownership {
    /// Acquires every shard of the log for a new owner. If one is held by somebody else, none stays acquired.
    pub async fn acquire(log: &dyn Log, random: &dyn Random) -> Result<Self, LogError> {
        let mut id = [0; 16];
        random.fill(&mut id);
        let owner = OwnerId::from_bytes(id);
        let epochs = Shard::all(log.shard_count()).map(|_| AtomicU64::new(0)).collect();
        let ownership = Self { epochs, leases: Mutex::default() };
        for shard in Shard::all(log.shard_count()) {
            match log.acquire(shard, &owner, LEASE_TIME).await {
                Ok(lease) => ownership.hold(lease),
                Err(error) => {
                    ownership.release(log).await;
                    return Err(error);
                }
            }
        }
        Ok(ownership)
    }

    /// The epoch for appends to a shard. Zero for one that was never acquired: the log refuses it.
    pub fn epoch(&self, shard: Shard) -> Epoch {
        let epoch = self.epochs.get(usize::from(shard.0));
        Epoch(epoch.map_or(0, |epoch| epoch.load(Ordering::Acquire)))
    }

    /// The shards that are owned, in order.
    pub fn shards(&self) -> Vec<Shard> {
        lock(&self.leases).keys().copied().collect()
    }

    /// Lets others acquire the shards at once. A lease that cannot be released only makes the next owner wait.
    pub async fn release(&self, log: &dyn Log) {
        let leases = std::mem::take(&mut *lock(&self.leases));
        for lease in leases.into_values() {
            let _ = log.release(&lease).await;
        }
    }

    fn hold(&self, lease: Lease) {
        if let Some(epoch) = self.epochs.get(usize::from(lease.shard.0)) {
            epoch.store(lease.epoch.0, Ordering::Release);
        }
        lock(&self.leases).insert(lease.shard, lease);
    }

    /// Renews each lease. A shard that somebody else acquired is no longer owned.
    pub async fn renew(&self, log: &dyn Log) {
        let leases: Vec<Lease> = lock(&self.leases).values().cloned().collect();
        for lease in leases {
            match log.renew(&lease, LEASE_TIME).await {
                Ok(renewed) => self.hold(renewed),
                Err(error) => {
                    tracing::warn!(code = %error.code(), shard = lease.shard.0, "the lease could not be renewed");
                    if matches!(error, LogError::Fenced { .. }) {
                        lock(&self.leases).remove(&lease.shard);
                    }
                }
            }
        }
    }
}
