//! Tickets: what a browser puts into a URL instead of a key, because `EventSource` and `WebSocket` take no headers.
//!
//! A ticket works once, for 30 s, in one tenant, for the scopes and the session it was made for. Tickets live in
//! memory: one that is lost in a restart is simply asked for again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use riverrun_api::KeyScope;
use riverrun_event::{ErrorCode, SessionId};
use riverrun_log::seeded::{self, Bug};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::keys::{KeyState, hex, random};
use super::limits::Limits;
use super::problem::Problem;

/// What a ticket gives when it is used.
pub(super) struct Grant {
    pub(super) key: Arc<KeyState>,
    pub(super) scopes: Vec<KeyScope>,
    pub(super) session: Option<SessionId>,
    until: Instant,
}

/// The tickets that wait for their use, by the digest of their text.
pub struct Tickets {
    waiting: Mutex<HashMap<[u8; 32], Grant>>,
    time: Duration,
    per_tenant: usize,
    per_key: usize,
}

impl Tickets {
    pub(super) fn new(limits: &Limits) -> Self {
        let per_tenant = limits.tickets_per_tenant;
        Self {
            waiting: Mutex::default(),
            time: limits.ticket_time,
            per_tenant,
            per_key: share_of_key(per_tenant),
        }
    }

    /// Makes a ticket that stands for `key` with `scopes`, which the caller has checked to be its own.
    pub(super) fn issue(
        &self,
        key: Arc<KeyState>,
        scopes: Vec<KeyScope>,
        session: Option<SessionId>,
    ) -> Result<String, Problem> {
        let text = format!("rt_{}", hex(&random::<32>()?));
        let now = Instant::now();
        let mut waiting = self.waiting.lock().unwrap_or_else(|poison| poison.into_inner());
        waiting.retain(|_, grant| grant.until > now);
        let of_key = waiting.values().filter(|grant| grant.key.stored.id == key.stored.id).count();
        if of_key >= self.per_key && !seeded::is_on(Bug::KeyTakesAllTickets) {
            let detail = format!(
                "{of_key} tickets of this key wait for their use, which is one key's share of the tenant's {}; use \
                 them, or wait until they expire",
                self.per_tenant
            );
            return Err(Problem::new(ErrorCode::RateLimited, detail)
                .quota("tickets_per_key")
                .limit(self.per_key as u64)
                .retry_after(self.time.as_secs()));
        }
        let mine = waiting.values().filter(|grant| grant.key.stored.tenant == key.stored.tenant).count();
        if mine >= self.per_tenant {
            let detail =
                format!("{mine} tickets of this tenant wait for their use, the limit is {}", self.per_tenant);
            return Err(Problem::new(ErrorCode::RateLimited, detail)
                .quota("tickets")
                .limit(self.per_tenant as u64)
                .retry_after(self.time.as_secs()));
        }
        waiting.insert(digest(&text), Grant { key, scopes, session, until: now + self.time });
        Ok(text)
    }

    /// Uses a ticket up. Unknown, used and expired look the same. Looking up by digest keeps the comparison
    /// independent of how much of a guess is right.
    pub(super) fn redeem(&self, text: &str) -> Option<Grant> {
        let mut waiting = self.waiting.lock().unwrap_or_else(|poison| poison.into_inner());
        waiting.remove(&digest(text)).filter(|grant| grant.until > Instant::now())
    }

    pub fn time(&self) -> Duration {
        self.time
    }
}

/// What one key may hold of something that its tenant shares: a quarter, so that no key takes all of it.
pub(super) const fn share_of_key(per_tenant: usize) -> usize {
    per_tenant.div_ceil(4)
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}
