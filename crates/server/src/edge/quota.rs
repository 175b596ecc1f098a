//! What one tenant may use of the server at a time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use riverrun_event::{ErrorCode, TenantId};
use tokio::time::Instant;

use super::limits::Limits;
use super::problem::Problem;

/// The use of each tenant now.
pub(super) struct Quotas {
    limits: Limits,
    streams: Arc<Mutex<HashMap<TenantId, u64>>>,
    buckets: Mutex<HashMap<TenantId, Bucket>>,
}

struct Bucket {
    tokens: f64,
    filled: Instant,
}

/// The right to hold one stream open; dropping it gives the place back.
pub struct StreamPermit {
    tenant: TenantId,
    streams: Arc<Mutex<HashMap<TenantId, u64>>>,
}

impl Quotas {
    pub(super) fn new(limits: &Limits) -> Self {
        Self { limits: limits.clone(), streams: Arc::default(), buckets: Mutex::default() }
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

    pub(super) fn open_streams(&self, tenant: &TenantId) -> u64 {
        let streams = self.streams.lock().unwrap_or_else(|poison| poison.into_inner());
        streams.get(tenant).copied().unwrap_or(0)
    }

    /// Takes `count` events out of the tenant's bucket, which holds one second's worth. A batch larger than the
    /// bucket passes when the bucket is full and leaves a debt, so that every batch passes in time.
    pub(super) fn take_events(&self, tenant: &TenantId, count: usize) -> Result<(), Problem> {
        self.fill(tenant, |bucket, rate| {
            let needed = (count as f64).min(rate);
            if bucket.tokens < needed {
                let wait = ((needed - bucket.tokens) / rate).ceil().max(1.0) as u64;
                let detail = format!("more than {rate} events per second; try again in {wait} s");
                return Err(Problem::new(ErrorCode::RateLimited, detail)
                    .quota("events_per_second")
                    .limit(rate as u64)
                    .with("used", (rate - bucket.tokens).round().max(0.0) as u64)
                    .retry_after(wait));
            }
            bucket.tokens -= count as f64;
            Ok(())
        })
    }

    /// Takes events that are stored already: they become a debt, and later ones wait for it.
    pub(super) fn charge_events(&self, tenant: &TenantId, count: u64) {
        let charged = self.fill(tenant, |bucket, _| {
            bucket.tokens -= count as f64;
            Ok(())
        });
        // Nothing is refused here.
        let _: Result<(), Problem> = charged;
    }

    /// The events of the last second that are not refilled yet, a debt included.
    pub(super) fn recent_events(&self, tenant: &TenantId) -> u64 {
        let mut used = 0.0;
        let _: Result<(), Problem> = self.fill(tenant, |bucket, rate| {
            used = rate - bucket.tokens;
            Ok(())
        });
        used.round().max(0.0) as u64
    }

    /// Hands over the tenant's bucket as it is now. Without a limit there is none.
    fn fill(
        &self,
        tenant: &TenantId,
        take: impl FnOnce(&mut Bucket, f64) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let Some(rate) = self.limits.quota(tenant).events_per_second else { return Ok(()) };
        let now = Instant::now();
        let mut buckets = self.buckets.lock().unwrap_or_else(|poison| poison.into_inner());
        let bucket = buckets.entry(tenant.clone()).or_insert(Bucket { tokens: rate, filled: now });
        bucket.tokens = (bucket.tokens + now.duration_since(bucket.filled).as_secs_f64() * rate).min(rate);
        bucket.filled = now;
        take(bucket, rate)
    }
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
    use std::time::Duration;

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
