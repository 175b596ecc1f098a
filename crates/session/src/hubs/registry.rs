//! All sessions in use. A session that nobody follows or appends to leaves after a while.

use std::hash::BuildHasher;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use foldhash::HashMap;
use foldhash::fast::RandomState;
use riverrun_log::seeded::{self, Bug};
use riverrun_log::{Clock, Committed, Log, LogError, SessionKey};

use super::hub::Hub;
use crate::lock::lock;

const SHARDS: usize = 64;
/// A shard for so many sessions is not made smaller.
const FEW_SESSIONS: usize = 16;
/// Readers that the committing thread wakes itself; more are woken by a task, so that the next commit does not wait.
const FEW_READERS: usize = 8;

/// The hubs of all sessions in use.
pub struct Hubs {
    log: Arc<dyn Log>,
    clock: Arc<dyn Clock>,
    hasher: RandomState,
    shards: Vec<Mutex<HashMap<SessionKey, Arc<Hub>>>>,
    crowds: tokio::sync::mpsc::UnboundedSender<Arc<Hub>>,
}

impl Hubs {
    /// Listens to the log's commits from here on.
    pub fn new(log: Arc<dyn Log>, clock: Arc<dyn Clock>) -> Arc<Self> {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        let (crowds, mut waiting) = tokio::sync::mpsc::unbounded_channel::<Arc<Hub>>();
        tokio::spawn(async move {
            while let Some(hub) = waiting.recv().await {
                hub.wake_queued.store(false, Ordering::Release);
                hub.wake_all();
            }
        });
        let hubs = Arc::new(Self { log: log.clone(), clock, hasher: RandomState::default(), shards, crowds });
        let listener = Arc::downgrade(&hubs);
        log.set_listener(Arc::new(move |committed: &[Committed]| {
            if let Some(hubs) = listener.upgrade() {
                hubs.committed(committed);
            }
        }));
        hubs
    }

    fn shard(&self, key: &SessionKey) -> &Mutex<HashMap<SessionKey, Arc<Hub>>> {
        &self.shards[self.hasher.hash_one(key) as usize % SHARDS]
    }

    fn committed(&self, committed: &[Committed]) {
        for one in committed {
            let hub = lock(self.shard(&one.key)).get(&one.key).cloned();
            if let Some(hub) = hub {
                hub.committed(&one.chunk);
                self.wake(hub);
            }
        }
    }

    fn wake(&self, hub: Arc<Hub>) {
        if hub.waiting_readers() <= FEW_READERS {
            hub.wake_all();
        } else if !hub.wake_queued.swap(true, Ordering::AcqRel) {
            // The task that wakes lives as long as the hubs do.
            let _ = self.crowds.send(hub);
        }
    }

    /// The sessions with unpacked events to which nobody has appended since `before`.
    pub fn idle(&self, before: u64, most: usize) -> Vec<Arc<Hub>> {
        let mut found = Vec::new();
        for shard in &self.shards {
            let shard = lock(shard);
            let idle = shard.values().filter(|hub| {
                hub.since_upkeep.load(Ordering::Relaxed) > 0
                    && !hub.is_gone()
                    && hub.last_appended.load(Ordering::Relaxed) < before
            });
            found.extend(idle.take(most.saturating_sub(found.len())).cloned());
        }
        found
    }

    /// The session's hub, or None if there is no such session.
    pub async fn get(&self, key: &SessionKey) -> Result<Option<Arc<Hub>>, LogError> {
        let known = lock(self.shard(key)).get(key).cloned();
        // The hub is in the map before the log is asked, so that no commit falls between.
        let hub = known.unwrap_or_else(|| {
            let mut shard = lock(self.shard(key));
            Arc::clone(shard.entry(key.clone()).or_insert_with(|| Arc::new(Hub::new(key.clone()))))
        });
        // It is being deleted. Until that is done nobody gets another hub, so none of the old session stays behind.
        if hub.is_gone() {
            return Ok(None);
        }
        hub.last_used.store(self.clock.now().millis(), Ordering::Relaxed);
        if hub.is_loaded() {
            return Ok(Some(hub));
        }
        match self.log.head(key).await {
            Ok(Some(head)) => {
                hub.loaded(&head, self.log.id_origins(key).await?);
                Ok(Some(hub))
            }
            Ok(None) => {
                self.drop_unloaded(key, &hub);
                // Somebody may have made the session while the log was asked.
                Ok(Some(hub).filter(|hub| hub.is_loaded()))
            }
            Err(error) => Err(error),
        }
    }

    /// A hub that nobody could load stands for no session. One that was loaded meanwhile stays: two hubs of one
    /// session would each believe that they own its end.
    fn drop_unloaded(&self, key: &SessionKey, hub: &Arc<Hub>) {
        let mut shard = lock(self.shard(key));
        if shard.get(key).is_some_and(|known| Arc::ptr_eq(known, hub) && !known.is_loaded()) {
            shard.remove(key);
        }
    }

    /// The session is about to be deleted: the readers of this hub are woken and see that it is gone, and until it is
    /// forgotten there is no such session. False if somebody else deletes it.
    pub(crate) fn close(&self, hub: &Arc<Hub>) -> bool {
        hub.set_gone()
    }

    /// The session was deleted. One that was made anew under the same id has another hub and keeps it.
    pub(crate) fn forget(&self, hub: &Arc<Hub>) {
        let mut shard = lock(self.shard(&hub.key));
        if shard.get(&hub.key).is_some_and(|known| Arc::ptr_eq(known, hub)) {
            shard.remove(&hub.key);
        }
    }

    /// The hub of a session that is in use now.
    pub fn known(&self, key: &SessionKey) -> Option<Arc<Hub>> {
        lock(self.shard(key)).get(key).filter(|hub| hub.is_loaded() && !hub.is_gone()).cloned()
    }

    /// Drops what was not used for `idle_millis` and has nothing that is still to be packed.
    pub fn sweep(&self, idle_millis: u64) {
        let before = self.clock.now().millis().saturating_sub(idle_millis);
        if seeded::is_on(Bug::KeepHubs) {
            return;
        }
        for shard in &self.shards {
            let mut shard = lock(shard);
            shard.retain(|_, hub| {
                hub.followers() > 0
                    || hub.last_used.load(Ordering::Relaxed) >= before
                    || hub.since_upkeep.load(Ordering::Relaxed) > 0
                    || Arc::strong_count(hub) > 1
            });
            if shard.capacity() > 4 * shard.len().max(FEW_SESSIONS) {
                let room = 2 * shard.len();
                shard.shrink_to(room);
            }
        }
    }

    /// Wakes every reader of every session.
    pub fn wake_all(&self) {
        for shard in &self.shards {
            let hubs: Vec<_> = lock(shard).values().cloned().collect();
            for hub in hubs {
                hub.wake_all();
            }
        }
    }

    /// How many sessions are in use.
    pub fn count(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).len()).sum()
    }
}
