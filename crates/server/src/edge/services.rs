//! What operations need of the edge: its keys, and what it counts of tenants.

use std::time::Duration;

use riverrun_api::{
    IssuedKey, KeyChange, KeyRequest, KeyTable, QuotaFigure, TenantFigures, TenantKeys, TenantMeter,
};
use riverrun_event::{KeyId, TenantId};
use riverrun_log::ApiKey;

use super::Edge;
use super::problem::Problem;

impl KeyTable for Edge {
    fn list(&self, tenant: Option<&TenantId>) -> Vec<ApiKey> {
        self.keys().list(tenant)
    }

    fn tenants(&self) -> Vec<TenantKeys> {
        self.keys().tenants()
    }

    fn tenant_of(&self, id: &KeyId) -> Option<TenantId> {
        self.keys().tenant_of(id)
    }

    fn create(&self, request: KeyRequest) -> KeyChange<'_, IssuedKey> {
        Box::pin(async { self.keys().create(request).await.map_err(Problem::into_error) })
    }

    fn revoke<'a>(&'a self, id: &'a KeyId) -> KeyChange<'a, bool> {
        Box::pin(async { self.keys().revoke(id).await.map_err(Problem::into_error) })
    }

    fn rotate<'a>(&'a self, id: &'a KeyId, overlap: Duration) -> KeyChange<'a, Option<IssuedKey>> {
        Box::pin(async move { self.keys().rotate(id, overlap).await.map_err(Problem::into_error) })
    }
}

impl TenantMeter for Edge {
    fn figures(&self, tenant: &TenantId) -> TenantFigures {
        let quota = self.limits().quota(tenant);
        let now = self.0.quotas.tenant_use(tenant);
        let rate = |used, limit: Option<f64>| QuotaFigure::new(used, limit.map(|limit| limit as u64));
        TenantFigures {
            sessions_limit: quota.storage.sessions,
            stored_bytes_limit: quota.storage.stored_bytes,
            running_turns_limit: quota.running_turns,
            streams: QuotaFigure::new(now.streams, quota.streams),
            events_per_second: rate(now.events, quota.events_per_second),
            new_sessions_per_second: rate(now.new_sessions, quota.new_sessions_per_second),
            upload_bytes_per_second: rate(now.upload_bytes, quota.upload_bytes_per_second),
        }
    }
}
