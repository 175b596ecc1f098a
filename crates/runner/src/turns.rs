//! How many turns of each tenant are at work, and how many may be.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use riverrun_event::TenantId;

use crate::CommandError;

/// The most turns of one tenant that may be at work at a time. None is no limit.
#[derive(Debug, Clone, Default)]
pub struct TurnQuotas {
    pub default: Option<u64>,
    /// Instead of the default, for these tenants.
    pub tenants: HashMap<TenantId, Option<u64>>,
}

impl TurnQuotas {
    pub fn of(&self, tenant: &TenantId) -> Option<u64> {
        self.tenants.get(tenant).copied().unwrap_or(self.default)
    }
}

/// The turns at work now. A turn that only waits for a decision has no actor and does not count.
#[derive(Debug, Default)]
pub(crate) struct TurnCounts(Mutex<HashMap<TenantId, u64>>);

impl TurnCounts {
    pub fn of(&self, tenant: &TenantId) -> u64 {
        self.lock().get(tenant).copied().unwrap_or(0)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<TenantId, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves a tenant's count from one share to another.
    fn change(&self, tenant: &TenantId, from: u64, to: u64) {
        let mut counts = self.lock();
        let count = counts.entry(tenant.clone()).or_default();
        *count = (*count + to).saturating_sub(from);
        if *count == 0 {
            counts.remove(tenant);
        }
    }

    /// Takes a place for one more turn.
    pub fn admit(self: &Arc<Self>, tenant: &TenantId, limit: Option<u64>) -> Result<TurnShare, CommandError> {
        let mut counts = self.lock();
        let used = counts.get(tenant).copied().unwrap_or(0);
        if let Some(limit) = limit.filter(|limit| used >= *limit) {
            return Err(CommandError::Quota { quota: "running_turns", limit, used });
        }
        counts.insert(tenant.clone(), used + 1);
        Ok(TurnShare { counts: self.clone(), tenant: tenant.clone(), count: 1 })
    }

    /// The share of an actor, which has no turn yet.
    pub fn share(self: &Arc<Self>, tenant: &TenantId) -> TurnShare {
        TurnShare { counts: self.clone(), tenant: tenant.clone(), count: 0 }
    }
}

/// What one actor counts for its tenant; dropping it gives the places back.
#[derive(Debug)]
pub(crate) struct TurnShare {
    counts: Arc<TurnCounts>,
    tenant: TenantId,
    count: u64,
}

impl TurnShare {
    pub fn set(&mut self, count: u64) {
        if count != self.count {
            self.counts.change(&self.tenant, self.count, count);
            self.count = count;
        }
    }
}

impl Drop for TurnShare {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_given_back_and_tenants_do_not_share() {
        let counts = Arc::new(TurnCounts::default());
        let [a, b] = ["a", "b"].map(|name| TenantId::new(name).expect("a good id"));
        let first = counts.admit(&a, Some(1));
        assert!(first.is_ok() && counts.admit(&a, Some(1)).is_err() && counts.admit(&b, Some(1)).is_ok());
        let mut actor = counts.share(&a);
        actor.set(1);
        drop(first);
        assert_eq!(counts.of(&a), 1);
        drop(actor);
        assert_eq!((counts.of(&a), counts.of(&b)), (0, 0));
    }
}
