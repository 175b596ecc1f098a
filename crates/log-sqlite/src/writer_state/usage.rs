//! What a group changes of the tenants' usage, and whether a tenant may store more.

use riverrun_event::TenantId;
use riverrun_log::{Urgency, Usage, UsageChange};

use super::WriterState;
use crate::failure::TransactionFault;

impl WriterState {
    /// What a tenant will have stored after this group.
    fn used(&self, tenant: &TenantId) -> Usage {
        let mut used = self.shared.used(tenant);
        used.change(self.usage.get(tenant).copied().unwrap_or_default());
        used
    }

    pub fn change_usage(&mut self, tenant: &TenantId, change: UsageChange) {
        match self.usage.get_mut(tenant) {
            Some(known) => *known += change,
            None => drop(self.usage.insert(tenant.clone(), change)),
        }
    }

    pub fn admit_session(&self, tenant: &TenantId) -> Result<(), TransactionFault> {
        let quota = self.shared.quota_of(tenant);
        if quota.sessions.is_some() {
            self.used(tenant).admit_session(quota)?;
        }
        Ok(())
    }

    pub fn admit_bytes(
        &self,
        tenant: &TenantId,
        bytes: usize,
        urgency: Urgency,
    ) -> Result<(), TransactionFault> {
        let quota = self.shared.quota_of(tenant);
        if quota.stored_bytes.is_some() {
            self.used(tenant).admit_bytes(quota, bytes as u64, urgency)?;
        }
        Ok(())
    }
}
