//! Bounds the bytes of request bodies that are under way at the same time, in all and per tenant.
//!
//! Bytes are counted as they arrive, not as they are announced: a request that announces much and sends nothing takes
//! nothing from others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use riverrun_event::{ErrorCode, TenantId};

use super::problem::Problem;

/// Of one body so much is not counted. Nearly every body is smaller, and the number of connections bounds them.
const UNCOUNTED: usize = 16 * 1024;
/// Bytes are taken in such steps.
const STEP: usize = 64 * 1024;

pub struct ByteBudget {
    /// For those who are refused.
    name: &'static str,
    max: usize,
    max_per_tenant: usize,
    used: Mutex<Used>,
}

#[derive(Default)]
struct Used {
    all: usize,
    by_tenant: HashMap<TenantId, usize>,
}

/// The bytes of one body. Dropping it gives them back.
pub struct Reservation {
    budget: Arc<ByteBudget>,
    tenant: Option<TenantId>,
    bytes: usize,
}

impl ByteBudget {
    /// A tenant may use half of it.
    pub(super) fn new(name: &'static str, max: usize) -> Arc<Self> {
        Arc::new(Self { name, max, max_per_tenant: max.div_ceil(2), used: Mutex::default() })
    }

    pub fn open(self: &Arc<Self>, tenant: Option<TenantId>) -> Reservation {
        Reservation { budget: self.clone(), tenant, bytes: 0 }
    }

    fn used(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(|poison| poison.into_inner())
    }

    fn take(&self, tenant: Option<&TenantId>, bytes: usize) -> Result<(), Problem> {
        let mut used = self.used();
        let of_tenant = tenant.and_then(|tenant| used.by_tenant.get(tenant)).copied().unwrap_or(0);
        if tenant.is_some() && of_tenant + bytes > self.max_per_tenant {
            let most = self.max_per_tenant;
            let detail = format!(
                "request bodies of this tenant that are under way have more than {most} bytes; send fewer at the same time"
            );
            let problem = Problem::new(ErrorCode::RateLimited, detail);
            return Err(problem.quota(self.name).limit(most as u64).retry_after(1));
        }
        if used.all + bytes > self.max {
            let detail =
                format!("request bodies that are under way have more than {} bytes; try again", self.max);
            return Err(Problem::new(ErrorCode::Overloaded, detail).limit(self.max as u64).retry_after(1));
        }
        used.all += bytes;
        if let Some(tenant) = tenant {
            *used.by_tenant.entry(tenant.clone()).or_default() += bytes;
        }
        Ok(())
    }

    fn give_back(&self, tenant: Option<&TenantId>, bytes: usize) {
        let mut used = self.used();
        used.all = used.all.saturating_sub(bytes);
        let Some(tenant) = tenant else { return };
        if let Some(of_tenant) = used.by_tenant.get_mut(tenant) {
            *of_tenant = of_tenant.saturating_sub(bytes);
            if *of_tenant == 0 {
                used.by_tenant.remove(tenant);
            }
        }
    }
}

impl Reservation {
    /// The body now holds so many bytes. 429 or 503 if that is more than there is room for.
    pub fn set(&mut self, bytes: usize) -> Result<(), Problem> {
        let wanted = match bytes {
            0..=UNCOUNTED => 0,
            _ => bytes.next_multiple_of(STEP),
        };
        if wanted > self.bytes {
            self.budget.take(self.tenant.as_ref(), wanted - self.bytes)?;
        } else if wanted < self.bytes {
            self.budget.give_back(self.tenant.as_ref(), self.bytes - wanted);
        }
        self.bytes = wanted;
        Ok(())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.budget.give_back(self.tenant.as_ref(), self.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1024 * 1024;

    fn open(budget: &Arc<ByteBudget>, tenant: &str) -> Reservation {
        budget.open(TenantId::new(tenant).ok())
    }

    #[test]
    fn a_tenant_gets_half_and_all_together_the_whole() {
        let budget = ByteBudget::new("body_bytes_in_flight", 4 * MIB);
        let (mut a, mut b, mut c) = (open(&budget, "a"), open(&budget, "b"), open(&budget, "c"));
        assert_eq!(a.set(2 * MIB), Ok(()));
        assert_eq!(a.set(2 * MIB + 1).map_err(|problem| problem.code()), Err(ErrorCode::RateLimited));
        assert_eq!(b.set(2 * MIB), Ok(()));
        assert_eq!(c.set(MIB).map_err(|problem| problem.code()), Err(ErrorCode::Overloaded));
        drop(a);
        assert_eq!(c.set(MIB), Ok(()));
    }

    #[test]
    fn small_bodies_are_not_counted_and_bytes_come_back() {
        let budget = ByteBudget::new("body_bytes_in_flight", MIB);
        let mut small: Vec<Reservation> = (0..1000).map(|_| open(&budget, "a")).collect();
        assert!(small.iter_mut().all(|one| one.set(UNCOUNTED).is_ok()));
        let mut large = open(&budget, "a");
        assert_eq!(large.set(512 * 1024), Ok(()));
        assert_eq!(large.set(0), Ok(()));
        let used = budget.used();
        assert_eq!((used.all, used.by_tenant.len()), (0, 0));
    }
}
