//! Permits for calls of models, tools and hooks. When they run out, waiting calls are served tenant by tenant, and
//! within a tenant session by session, so that whoever asks for many waits longer than whoever asks for one.
//!
//! ```text
//!   free     [ shared ............... | reserve ]
//!                                       ^ only for tenants that hold few permits
//! ```
//!
//! The reserve keeps a tenant with many long calls from holding every permit: another tenant's first calls do not wait
//! for any of them to end.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::HashMap;
use riverrun_event::{SessionId, TenantId};
use riverrun_log::SessionKey;
use tokio::sync::oneshot;

/// One part in so many is kept for tenants that hold few permits.
const RESERVE: usize = 8;
/// A tenant that holds fewer than one part in so many holds few.
const FEW: usize = 64;

pub(crate) struct CallPool {
    state: Mutex<State>,
    reserve: usize,
    few: usize,
}

#[derive(Default)]
struct State {
    free: usize,
    tenants: HashMap<TenantId, Tenant>,
    /// Tenants with waiting calls, the next to be served first.
    turns: VecDeque<TenantId>,
}

#[derive(Default)]
struct Tenant {
    held: usize,
    waiting: HashMap<SessionId, VecDeque<oneshot::Sender<Permit>>>,
    /// Sessions with waiting calls, the next to be served first.
    turns: VecDeque<SessionId>,
}

/// The right to make one call, until it is dropped.
pub(crate) struct Permit {
    pool: Arc<CallPool>,
    tenant: TenantId,
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.pool.release(&self.tenant);
    }
}

impl CallPool {
    pub fn new(size: usize) -> Arc<Self> {
        let size = size.max(1);
        let state = Mutex::new(State { free: size, ..State::default() });
        Arc::new(Self { state, reserve: size / RESERVE, few: (size / FEW).max(1) })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Counters and queues are changed together under the lock, by code that does not panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn may_take(&self, free: usize, held: usize) -> bool {
        free > self.reserve || free > 0 && held < self.few
    }

    /// Resolves when the call may be made.
    pub async fn acquire(self: &Arc<Self>, key: &SessionKey) -> Option<Permit> {
        let waiting = {
            let mut state = self.lock();
            let free = state.free;
            let tenant = state.tenants.entry(key.tenant.clone()).or_default();
            if tenant.turns.is_empty() && self.may_take(free, tenant.held) {
                tenant.held += 1;
                state.free -= 1;
                return Some(self.permit(&key.tenant));
            }
            let (sender, receiver) = oneshot::channel();
            let is_first = tenant.turns.is_empty();
            let queue = tenant.waiting.entry(key.session.clone()).or_default();
            if queue.is_empty() {
                tenant.turns.push_back(key.session.clone());
            }
            queue.push_back(sender);
            if is_first {
                state.turns.push_back(key.tenant.clone());
            }
            receiver
        };
        waiting.await.ok()
    }

    fn permit(self: &Arc<Self>, tenant: &TenantId) -> Permit {
        Permit { pool: self.clone(), tenant: tenant.clone() }
    }

    fn release(self: &Arc<Self>, tenant: &TenantId) {
        let mut state = self.lock();
        state.free += 1;
        if let Some(known) = state.tenants.get_mut(tenant) {
            known.held = known.held.saturating_sub(1);
            if known.held == 0 && known.turns.is_empty() {
                state.tenants.remove(tenant);
            }
        }
        let granted = self.grant(&mut state);
        drop(state);
        // One who stopped waiting just now gives the permit back when it is dropped here, without the lock.
        for (sender, permit) in granted {
            drop(sender.send(permit));
        }
    }

    /// Serves the waiting tenants in turn, each with one call, as long as there are permits.
    fn grant(self: &Arc<Self>, state: &mut State) -> Vec<(oneshot::Sender<Permit>, Permit)> {
        let mut granted = Vec::new();
        let mut passed_over = 0;
        while state.free > 0 && passed_over < state.turns.len() {
            let Some(name) = state.turns.pop_front() else { break };
            let Some(tenant) = state.tenants.get_mut(&name) else { continue };
            if !self.may_take(state.free, tenant.held) {
                state.turns.push_back(name);
                passed_over += 1;
                continue;
            }
            if let Some(sender) = tenant.next_waiting() {
                tenant.held += 1;
                state.free -= 1;
                passed_over = 0;
                granted.push((sender, self.permit(&name)));
            }
            if !tenant.turns.is_empty() {
                state.turns.push_back(name);
            } else if tenant.held == 0 {
                state.tenants.remove(&name);
            }
        }
        granted
    }
}

impl Tenant {
    /// The next call that still waits, of the session whose turn it is.
    fn next_waiting(&mut self) -> Option<oneshot::Sender<Permit>> {
        while let Some(session) = self.turns.pop_front() {
            let Some(queue) = self.waiting.get_mut(&session) else { continue };
            let sender = std::iter::from_fn(|| queue.pop_front()).find(|sender| !sender.is_closed());
            if queue.is_empty() {
                self.waiting.remove(&session);
            } else {
                self.turns.push_back(session);
            }
            if sender.is_some() {
                return sender;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    fn key(tenant: &str, session: &str) -> SessionKey {
        SessionKey::new(
            TenantId::new(tenant).expect("a name of the test"),
            SessionId::new(session).expect("a name of the test"),
        )
    }

    fn now(pool: &Arc<CallPool>, key: &SessionKey) -> Option<Permit> {
        pool.acquire(key).now_or_never().flatten()
    }

    #[test]
    fn one_tenant_cannot_hold_the_reserve() {
        let pool = CallPool::new(16);
        let (many, few) = (key("many", "s"), key("few", "s"));
        let held: Vec<Permit> = (0..100).map_while(|_| now(&pool, &many)).collect();
        assert_eq!(held.len(), 14);
        assert!(now(&pool, &few).is_some());
    }

    #[tokio::test]
    async fn waiting_calls_are_served_in_turn() {
        let pool = CallPool::new(1);
        let order = Arc::new(Mutex::new(Vec::new()));
        let first = now(&pool, &key("a", "s")).expect("the pool is empty");
        let mut calls = Vec::new();
        for (tenant, session) in [("a", "s"), ("a", "s"), ("a", "s"), ("a", "t"), ("b", "s"), ("b", "s")] {
            let (pool, order) = (pool.clone(), order.clone());
            calls.push(tokio::spawn(async move {
                let _permit = pool.acquire(&key(tenant, session)).await;
                order.lock().expect("no panic").push(format!("{tenant}/{session}"));
            }));
            tokio::task::yield_now().await;
        }
        drop(first);
        for call in calls {
            call.await.expect("no panic");
        }
        let order = order.lock().expect("no panic").clone();
        assert_eq!(order, ["a/s", "b/s", "a/t", "b/s", "a/s", "a/s"]);
        assert!(pool.lock().tenants.is_empty() && pool.lock().turns.is_empty());
    }

    #[tokio::test]
    async fn a_call_that_stopped_waiting_is_passed_over() {
        let pool = CallPool::new(1);
        let first = now(&pool, &key("a", "s"));
        assert!(now(&pool, &key("a", "s")).is_none(), "it does not wait any more");
        let waiting = tokio::spawn({
            let pool = pool.clone();
            async move { pool.acquire(&key("b", "s")).await.is_some() }
        });
        tokio::task::yield_now().await;
        drop(first);
        assert!(waiting.await.expect("no panic"));
        assert_eq!(pool.lock().free, 1);
    }
}
