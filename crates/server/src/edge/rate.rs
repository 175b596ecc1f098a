//! How much of something a tenant may use in a time: a bucket for each tenant, which fills at a steady rate.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use riverrun_event::TenantId;
use tokio::time::Instant;

pub(super) struct Rate {
    /// A full bucket holds what the rate gives in this time.
    burst: Duration,
    buckets: Mutex<HashMap<TenantId, Bucket>>,
}

struct Bucket {
    tokens: f64,
    filled: Instant,
}

/// The bucket is empty.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Exceeded {
    /// What was used and is not refilled yet.
    pub(super) used: u64,
    /// Seconds until there is enough.
    pub(super) wait: u64,
}

impl Rate {
    pub(super) fn new(burst: Duration) -> Self {
        Self { burst, buckets: Mutex::default() }
    }

    /// Takes `count`. More than a full bucket holds passes when the bucket is full and leaves a debt, so that everything
    /// passes in time.
    pub(super) fn take(&self, tenant: &TenantId, rate: Option<f64>, count: f64) -> Result<(), Exceeded> {
        self.with(tenant, rate, |bucket, rate, most| {
            let needed = count.min(most);
            if bucket.tokens < needed {
                let wait = ((needed - bucket.tokens) / rate).ceil().max(1.0) as u64;
                return Err(Exceeded { used: (most - bucket.tokens).round().max(0.0) as u64, wait });
            }
            bucket.tokens -= count;
            Ok(())
        })
        .unwrap_or(Ok(()))
    }

    /// Takes `count` of something that is already under way, unless the debt would pass `debt`.
    pub(super) fn take_on_credit(
        &self,
        tenant: &TenantId,
        rate: Option<f64>,
        count: f64,
        debt: f64,
    ) -> Result<(), Exceeded> {
        self.with(tenant, rate, |bucket, rate, most| {
            if bucket.tokens - count.min(most) < -debt {
                let wait = (-bucket.tokens / rate).ceil().max(1.0) as u64;
                return Err(Exceeded { used: (most - bucket.tokens).round().max(0.0) as u64, wait });
            }
            bucket.tokens -= count;
            Ok(())
        })
        .unwrap_or(Ok(()))
    }

    /// Takes what is used already, or gives back what was not used after all.
    pub(super) fn charge(&self, tenant: &TenantId, rate: Option<f64>, count: f64) {
        self.with(tenant, rate, |bucket, _, most| bucket.tokens = (bucket.tokens - count).min(most));
    }

    /// What was used and is not refilled yet, a debt included, for each second of the burst.
    pub(super) fn recent(&self, tenant: &TenantId, rate: Option<f64>) -> u64 {
        let used = self.with(tenant, rate, |bucket, _, most| (most - bucket.tokens).max(0.0));
        (used.unwrap_or(0.0) / self.burst.as_secs_f64()).round() as u64
    }

    /// Hands over the tenant's bucket as it is now, the rate, and what a full bucket holds. None without a limit.
    fn with<R>(
        &self,
        tenant: &TenantId,
        rate: Option<f64>,
        take: impl FnOnce(&mut Bucket, f64, f64) -> R,
    ) -> Option<R> {
        let rate = rate?;
        let (now, most) = (Instant::now(), rate * self.burst.as_secs_f64());
        let mut buckets = self.buckets.lock().unwrap_or_else(|poison| poison.into_inner());
        let bucket = buckets.entry(tenant.clone()).or_insert(Bucket { tokens: most, filled: now });
        bucket.tokens = (bucket.tokens + now.duration_since(bucket.filled).as_secs_f64() * rate).min(most);
        bucket.filled = now;
        Some(take(bucket, rate, most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_passes_and_then_the_rate_holds() {
        let (rate, tenant) = (Rate::new(Duration::from_secs(10)), TenantId::new("a").expect("an id"));
        let take = |count| rate.take(&tenant, Some(100.0), count);
        assert!((0..1_000).all(|_| take(1.0).is_ok()));
        assert_eq!(take(1.0), Err(Exceeded { used: 1_000, wait: 1 }));
        assert_eq!(rate.recent(&tenant, Some(100.0)), 100);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!((0..100).all(|_| take(1.0).is_ok()));
        assert!(take(1.0).is_err());
        assert!(rate.take(&tenant, None, 1e9).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_under_way_may_run_into_debt_and_no_further() {
        let (rate, tenant) = (Rate::new(Duration::from_secs(10)), TenantId::new("a").expect("an id"));
        let more = |count| rate.take_on_credit(&tenant, Some(1.0), count, 20.0).is_ok();
        assert!(more(10.0) && more(20.0) && !more(1.0));
        assert!(rate.take(&tenant, Some(1.0), 1.0).is_err());
        rate.charge(&tenant, Some(1.0), -5.0);
        assert!(more(5.0));
    }
}
