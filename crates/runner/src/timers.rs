//! Times at which sessions that hold no memory must be woken: one small entry each.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use riverrun_event::Timestamp;
use riverrun_log::SessionKey;
use tokio::sync::Notify;

#[derive(Default)]
pub(crate) struct Timers {
    due: Mutex<Due>,
    changed: Notify,
}

/// By time, and by a number that distinguishes equal times.
#[derive(Default)]
struct Due {
    entries: BTreeMap<(i64, u64), SessionKey>,
    count: u64,
}

impl Timers {
    pub fn schedule(&self, key: &SessionKey, at: Timestamp) {
        let mut due = self.due();
        due.count += 1;
        let entry = (at.millis(), due.count);
        due.entries.insert(entry, key.clone());
        drop(due);
        self.changed.notify_one();
    }

    fn due(&self) -> MutexGuard<'_, Due> {
        // Only single inserts and removes: a panic elsewhere leaves the map consistent.
        self.due.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The sessions that are due at this time; their entries are removed.
    pub fn take(&self, now: i64) -> Vec<SessionKey> {
        let mut due = self.due();
        let later = due.entries.split_off(&(now.saturating_add(1), 0));
        std::mem::replace(&mut due.entries, later).into_values().collect()
    }

    /// The earliest time of all entries.
    pub fn first(&self) -> Option<i64> {
        self.due().entries.first_key_value().map(|((at, _), _)| *at)
    }

    /// Resolves when an entry was added.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }
}
