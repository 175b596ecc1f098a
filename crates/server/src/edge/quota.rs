//! What one tenant may use of the server at a time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use riverrun_event::{ErrorCode, TenantId};
use tokio::time::Instant;

use super::limits::Limits;
use super::problem::Problem;

/// The use of each tenant now.
pub(super) struct Quotas {
    streams: Arc<Mutex<HashMap<TenantId, usize>>>,
    max_streams: usize,
    buckets: Mutex<HashMap<TenantId, Bucket>>,
    events_per_second: Option<f64>,
}

struct Bucket {
    tokens: f64,
    filled: Instant,
}

/// The right to hold one stream open; dropping it gives the place back.
pub struct StreamPermit {
    tenant: TenantId,
    streams: Arc<Mutex<HashMap<TenantId, usize>>>,
}

impl Quotas {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            streams: Arc::default(),
            max_streams: limits.streams_per_tenant,
            buckets: Mutex::default(),
            events_per_second: limits.events_per_second,
        }
    }

    pub(super) fn open_stream(&self, tenant: &TenantId) -> Result<StreamPermit, Problem> {
        let mut streams = self.streams.lock().unwrap_or_else(|poison| poison.into_inner());
        let open = streams.entry(tenant.clone()).or_insert(0);
        if *open >= self.max_streams {
            let detail =
                format!("{open} streams are open, the limit is {}; close one first", self.max_streams);
            return Err(Problem::new(ErrorCode::TooManyStreams, detail)
                .quota("streams")
                .limit(self.max_streams as u64)
                .retry_after(5));
        }
        *open += 1;
        Ok(StreamPermit { tenant: tenant.clone(), streams: self.streams.clone() })
    }

    /// Takes `count` events out of the tenant's bucket, which holds one second's worth. A batch larger than the
    /// bucket passes when the bucket is full and leaves a debt, so that every batch passes in time.
    pub(super) fn take_events(&self, tenant: &TenantId, count: usize) -> Result<(), Problem> {
        let Some(rate) = self.events_per_second else { return Ok(()) };
        let now = Instant::now();
        let mut buckets = self.buckets.lock().unwrap_or_else(|poison| poison.into_inner());
        let bucket = buckets.entry(tenant.clone()).or_insert(Bucket { tokens: rate, filled: now });
        bucket.tokens = (bucket.tokens + now.duration_since(bucket.filled).as_secs_f64() * rate).min(rate);
        bucket.filled = now;
        let needed = (count as f64).min(rate);
        if bucket.tokens < needed {
            let wait = ((needed - bucket.tokens) / rate).ceil().max(1.0) as u64;
            let detail = format!("more than {rate} events per second; try again in {wait} s");
            return Err(Problem::new(ErrorCode::RateLimited, detail)
                .quota("events_per_second")
                .limit(rate as u64)
                .retry_after(wait));
        }
        bucket.tokens -= count as f64;
        Ok(())
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
        let quotas = Quotas::new(&Limits { streams_per_tenant: 1, ..Limits::default() });
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
