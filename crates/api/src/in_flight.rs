//! Requests with an idempotency key that are being done now.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use riverrun_event::TenantId;
use riverrun_session::lock;

type Key = (TenantId, String);

#[derive(Debug, Default, Clone)]
pub struct InFlight(Arc<Mutex<HashSet<Key>>>);

/// A request while it is done; dropping it lets the next one with its key begin.
#[derive(Debug)]
pub struct FlightGuard {
    all: InFlight,
    key: Key,
}

impl InFlight {
    /// None while another request with the same key is under way.
    pub fn begin(&self, tenant: &TenantId, scope: &str) -> Option<FlightGuard> {
        let key = (tenant.clone(), scope.to_owned());
        lock(&self.0).insert(key.clone()).then(|| FlightGuard { all: self.clone(), key })
    }
}

impl Drop for FlightGuard {
    fn drop(&mut self) {
        lock(&self.all.0).remove(&self.key);
    }
}
