//! Sessions of which upkeep should take a snapshot.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

use riverrun_log::SessionKey;
use tokio::sync::Notify;

use crate::hubs::{Batch, Hub};
use crate::lock::lock;

/// Events that a reader may have to fold before a snapshot behind them is worth its while: this many at least, and
/// one for so many bytes of the snapshot.
const LONG_TAIL: u64 = 50;
const BYTES_PER_EVENT: u64 = 1_600;

/// Sessions that want a snapshot.
#[derive(Default)]
pub struct DueSessions {
    due: Mutex<HashSet<SessionKey>>,
    notify: Notify,
}

impl DueSessions {
    /// Notes an append. A turn that ended is a good place for a snapshot.
    pub fn appended(&self, hub: &Hub, batch: &Batch) {
        let bytes: u64 = batch.events.iter().map(|event| event.draft.size() as u64).sum();
        let since = hub.since_upkeep.fetch_add(bytes, Ordering::AcqRel) + bytes;
        hub.last_appended.store(hub.last_used.load(Ordering::Relaxed), Ordering::Relaxed);
        let ended = batch.events.iter().any(|event| event.draft.kind.is_turn_terminal());
        let due = hub.upkeep_after.load(Ordering::Relaxed);
        if since >= due || ended && since >= due / 8 {
            self.ask(hub);
        }
    }

    /// Notes that a reader folded `events` events to get at a state of `size` bytes. The next one should not have to.
    pub fn folded(&self, hub: &Hub, events: u64, size: usize) {
        if events > LONG_TAIL.max(size as u64 / BYTES_PER_EVENT) {
            self.ask(hub);
        }
    }

    fn ask(&self, hub: &Hub) {
        hub.since_upkeep.store(0, Ordering::Release);
        lock(&self.due).insert(hub.key.clone());
        self.notify.notify_one();
    }

    /// Resolves when a session became due.
    pub async fn notified(&self) {
        self.notify.notified().await;
    }

    pub fn take(&self) -> Vec<SessionKey> {
        lock(&self.due).drain().collect()
    }
}
