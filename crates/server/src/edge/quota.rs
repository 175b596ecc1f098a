//! What one tenant may use of the server at a time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use riverrun_api::ApiError;
use riverrun_event::{ErrorCode, TenantId};
use riverrun_log::seeded::{self, Bug};

use super::limits::Limits;
use super::problem::Problem;
use super::rate::{Exceeded, Rate};

/// Bursts of events last a second, bursts of what costs more may last longer: whoever begins something new begins with
/// many sessions and files.
const EVENTS_BURST: Duration = Duration::from_secs(1);
const OTHER_BURST: Duration = Duration::from_secs(10);

/// The use of each tenant now.
pub(super) struct Quotas {
    limits: Limits,
    streams: Arc<Mutex<HashMap<TenantId, u64>>>,
    events: Rate,
    new_sessions: Rate,
    upload_bytes: Rate,
}

/// What a tenant used lately.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TenantUse {
    pub(crate) streams: u64,
    /// Of the last second.
    pub(crate) events: u64,
    /// Per second, over the last ten.
    pub(crate) new_sessions: u64,
    pub(crate) upload_bytes: u64,
}

/// The right to hold one stream open; dropping it gives the place back.
pub struct StreamPermit {
    tenant: TenantId,
    streams: Arc<Mutex<HashMap<TenantId, u64>>>,
}

impl Quotas {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            limits: limits.clone(),
            streams: Arc::default(),
            events: Rate::new(EVENTS_BURST),
            new_sessions: Rate::new(OTHER_BURST),
            upload_bytes: Rate::new(OTHER_BURST),
        }
    }

    pub(super) fn open_stream(&self, tenant: &TenantId) -> Result<StreamPermit, Problem> {
        let limit = self.limits.quota(tenant).streams;
        let mut streams = self.streams.lock().unwrap_or_else(|poison| poison.into_inner());
        let used = streams.get(tenant).copied().unwrap_or(0);
        if let Some(limit) = limit.filter(|limit| used >= *limit) {
            let detail = format!("{used} streams are open, the limit is {limit}; close one first");
            return Err(Problem::new(ErrorCode::TooManyStreams, detail)
                .quota("streams")
                .limit(limit)
                .with("used", used)
                .retry_after(5));
        }
        streams.insert(tenant.clone(), used + 1);
        Ok(StreamPermit { tenant: tenant.clone(), streams: self.streams.clone() })
    }

    pub(super) fn tenant_use(&self, tenant: &TenantId) -> TenantUse {
        let quota = self.limits.quota(tenant);
        let streams = self.streams.lock().unwrap_or_else(|poison| poison.into_inner());
        TenantUse {
            streams: streams.get(tenant).copied().unwrap_or(0),
            events: self.events.recent(tenant, quota.events_per_second),
            new_sessions: self.new_sessions.recent(tenant, quota.new_sessions_per_second),
            upload_bytes: self.upload_bytes.recent(tenant, quota.upload_bytes_per_second),
        }
    }

    pub(super) fn take_events(&self, tenant: &TenantId, count: usize) -> Result<(), Problem> {
        let rate = self.limits.quota(tenant).events_per_second;
        let taken = self.events.take(tenant, rate, count as f64);
        Ok(taken.map_err(|exceeded| refused("events_per_second", "events", rate, exceeded))?)
    }

    /// Takes events that are stored already: they become a debt, and later ones wait for it.
    pub(super) fn charge_events(&self, tenant: &TenantId, count: u64) {
        self.events.charge(tenant, self.limits.quota(tenant).events_per_second, count as f64);
    }

    pub(super) fn take_session(&self, tenant: &TenantId) -> Result<(), ApiError> {
        let rate = self.limits.quota(tenant).new_sessions_per_second;
        let rate = rate.filter(|_| !seeded::is_on(Bug::NoBurstLimit));
        let taken = self.new_sessions.take(tenant, rate, 1.0);
        taken.map_err(|exceeded| refused("new_sessions_per_second", "new sessions", rate, exceeded))
    }

    /// The session was there before.
    pub(super) fn return_session(&self, tenant: &TenantId) {
        self.new_sessions.charge(tenant, self.limits.quota(tenant).new_sessions_per_second, -1.0);
    }

    /// Counts bytes of an upload as they arrive. One that has begun may use as much again as a blob may have, so that
    /// one blob always fits; a new one waits until that is paid off.
    pub(super) fn take_upload(&self, tenant: &TenantId, bytes: usize, is_first: bool) -> Result<(), Problem> {
        let rate = self.limits.quota(tenant).upload_bytes_per_second;
        let credit = if is_first { 0.0 } else { self.limits.blob_bytes as f64 };
        let taken = self.upload_bytes.take_on_credit(tenant, rate, bytes as f64, credit);
        Ok(taken.map_err(|exceeded| refused("upload_bytes_per_second", "bytes of blobs", rate, exceeded))?)
    }
}

fn refused(quota: &'static str, what: &str, rate: Option<f64>, exceeded: Exceeded) -> ApiError {
    let (rate, Exceeded { used, wait }) = (rate.unwrap_or(0.0), exceeded);
    let detail = format!("more than {rate} {what} per second; try again in {wait} s");
    ApiError::new(ErrorCode::RateLimited, detail)
        .quota(quota)
        .limit(rate as u64)
        .with("used", used)
        .retry_after(wait)
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        let mut streams = self.streams.lock().unwrap_or_else(|poison| poison.into_inner());
        if let Some(open) = streams.get_mut(&self.tenant) {
            *open -= 1;
            if *open == 0 {
                streams.remove(&self.tenant);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant(name: &str) -> TenantId {
        TenantId::new(name).expect("a well formed id")
    }

    #[test]
    fn a_closed_stream_gives_its_place_back_and_tenants_do_not_share() {
        let quotas = Quotas::new(&Limits { streams_per_tenant: Some(1), ..Limits::default() });
        let first = quotas.open_stream(&tenant("a")).map_err(|p| p.code());
        assert!(first.is_ok());
        assert_eq!(
            quotas.open_stream(&tenant("a")).map(|_| ()).map_err(|p| p.code()),
            Err(ErrorCode::TooManyStreams)
        );
        assert!(quotas.open_stream(&tenant("b")).is_ok());
        drop(first);
        assert!(quotas.open_stream(&tenant("a")).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn events_over_the_rate_wait() {
        let quotas = Quotas::new(&Limits { events_per_second: Some(10.0), ..Limits::default() });
        let take = |count| quotas.take_events(&tenant("a"), count).map_err(|problem| problem.code());
        assert_eq!(take(10), Ok(()));
        assert_eq!(take(1), Err(ErrorCode::RateLimited));
        tokio::time::advance(Duration::from_millis(100)).await;
        assert_eq!(take(1), Ok(()));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(take(25), Ok(()));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(take(1), Err(ErrorCode::RateLimited));
    }
}
