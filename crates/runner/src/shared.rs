//! What all sessions of a runner share.

use std::sync::{Arc, PoisonError, RwLock};

use riverrun_event::Timestamp;
use riverrun_log::{Clock, Random};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::call_pool::CallPool;
use crate::mailbox::Mailboxes;
use crate::timers::Timers;
use crate::turns::TurnCounts;
use crate::{Journal, Options, Registry};

/// Each may take as much memory as a file and its text have.
const FILES_AT_ONCE: usize = 8;
/// Sessions whose state is read at the same time.
const LOADS_AT_ONCE: usize = 64;

pub(crate) struct RunnerShared {
    pub journal: Arc<dyn Journal>,
    /// For actors that begin from now on.
    registry: RwLock<Arc<Registry>>,
    pub clock: Arc<dyn Clock>,
    pub random: Arc<dyn Random>,
    pub options: Options,
    /// Permits for calls of models, tools and hooks.
    pub calls: Arc<CallPool>,
    /// Permits to read the state of a session.
    pub loads: Semaphore,
    /// Permits to read a file of an input.
    pub file_slots: Arc<Semaphore>,
    pub timers: Timers,
    pub turns: Arc<TurnCounts>,
    /// Cancelled when nothing new may begin: what is open ends, and is recorded.
    pub hand_over: CancellationToken,
    /// Cancelled when the runner stops.
    pub stop: CancellationToken,
    pub mailboxes: Mailboxes,
}

impl RunnerShared {
    pub fn new(
        journal: Arc<dyn Journal>,
        registry: Arc<Registry>,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
        options: Options,
    ) -> Self {
        let calls = CallPool::new(options.running);
        Self {
            journal,
            registry: RwLock::new(registry),
            clock,
            random,
            options,
            calls,
            loads: Semaphore::new(LOADS_AT_ONCE),
            file_slots: Arc::new(Semaphore::new(FILES_AT_ONCE)),
            timers: Timers::default(),
            turns: Arc::default(),
            hand_over: CancellationToken::new(),
            stop: CancellationToken::new(),
            mailboxes: Mailboxes::default(),
        }
    }

    pub fn registry(&self) -> Arc<Registry> {
        self.registry.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn set_registry(&self, registry: Arc<Registry>) {
        *self.registry.write().unwrap_or_else(PoisonError::into_inner) = registry;
    }

    pub fn now(&self) -> Timestamp {
        Timestamp::from_millis(i64::try_from(self.clock.now().millis()).unwrap_or(i64::MAX))
    }

    pub fn fresh(&self) -> [u8; 16] {
        crate::ids::fresh(&*self.clock, &*self.random)
    }

    /// True once nothing new begins.
    pub fn is_draining(&self) -> bool {
        self.hand_over.is_cancelled()
    }

    /// Stops every actor; none of them writes anything after its present append.
    pub fn drain(&self) {
        self.hand_over.cancel();
        self.stop.cancel();
    }
}
