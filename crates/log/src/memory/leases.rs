//! One lease for each shard.

use std::time::Duration;

use riverrun_event::OwnerId;

use crate::{Epoch, Lease, LogError, Shard, ShardState, UnixMillis};

/// The shards of a store, each with its newest epoch and the lease that was last given.
pub struct Leases(Vec<(Epoch, Option<Lease>)>);

impl Leases {
    pub fn new(shards: u16) -> Self {
        Self(vec![Default::default(); usize::from(shards)])
    }

    pub fn count(&self) -> u16 {
        // Made from a `u16`.
        self.0.len() as u16
    }

    pub fn epoch(&self, shard: Shard) -> Epoch {
        self.0.get(usize::from(shard.0)).map_or(Epoch::default(), |(epoch, _)| *epoch)
    }

    pub fn list(&self, now: UnixMillis) -> Vec<ShardState> {
        let state = |(shard, (epoch, lease)): (u16, &(Epoch, Option<Lease>))| ShardState {
            shard: Shard(shard),
            epoch: *epoch,
            lease: lease.clone().filter(|lease| lease.expires > now),
        };
        (0..).zip(&self.0).map(state).collect()
    }

    fn find(&mut self, shard: Shard) -> Result<&mut (Epoch, Option<Lease>), LogError> {
        let absent = || LogError::NotFound { kind: "shard", id: shard.0.to_string() };
        self.0.get_mut(usize::from(shard.0)).ok_or_else(absent)
    }

    pub fn acquire(
        &mut self,
        shard: Shard,
        owner: &OwnerId,
        now: UnixMillis,
        ttl: Duration,
    ) -> Result<Lease, LogError> {
        let (epoch, held) = self.find(shard)?;
        if let Some(held) = held.as_ref().filter(|held| held.owner != *owner && held.expires > now) {
            return Err(LogError::LeaseHeld { owner: held.owner.clone(), expires: held.expires });
        }
        epoch.0 += 1;
        let lease = Lease { shard, epoch: *epoch, owner: owner.clone(), expires: now.plus(ttl) };
        *held = Some(lease.clone());
        Ok(lease)
    }

    pub fn renew(&mut self, lease: &Lease, now: UnixMillis, ttl: Duration) -> Result<Lease, LogError> {
        let (current, held) = self.find(lease.shard)?;
        if *current != lease.epoch {
            return Err(LogError::Fenced { used: lease.epoch, current: *current });
        }
        let renewed = Lease { expires: now.plus(ttl), ..lease.clone() };
        *held = Some(renewed.clone());
        Ok(renewed)
    }

    pub fn release(&mut self, lease: &Lease) -> Result<(), LogError> {
        let (current, held) = self.find(lease.shard)?;
        if *current == lease.epoch {
            *held = None;
        }
        Ok(())
    }
}
