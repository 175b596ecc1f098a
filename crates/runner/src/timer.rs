//! Times at which sessions that hold no memory must be woken: one small entry each.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use riverrun_event::Timestamp;
use riverrun_log::SessionKey;
use tokio::sync::Notify;

use crate::actor::Command;
use crate::core::Core;

#[derive(Default)]
pub(crate) struct Timers {
    due: Mutex<Due>,
    changed: Notify,
}

/// By time, and by a number that tells equal times apart.
#[derive(Default)]
struct Due {
    entries: BTreeMap<(i64, u64), SessionKey>,
    count: u64,
}

impl Timers {
    pub fn schedule(&self, key: &SessionKey, at: Timestamp) {
        let mut due = self.due();
        due.count += 1;
        let place = (at.millis(), due.count);
        due.entries.insert(place, key.clone());
        drop(due);
        self.changed.notify_one();
    }

    fn due(&self) -> MutexGuard<'_, Due> {
        // Single inserts and removes: a panic elsewhere leaves it whole.
        self.due.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, now: i64) -> Vec<SessionKey> {
        let mut due = self.due();
        let later = due.entries.split_off(&(now.saturating_add(1), 0));
        std::mem::replace(&mut due.entries, later).into_values().collect()
    }

    fn first(&self) -> Option<i64> {
        self.due().entries.first_key_value().map(|((at, _), _)| *at)
    }
}

/// Wakes what is due, until the runner stops.
pub(crate) async fn run(core: Arc<Core>) {
    const LONGEST: i64 = 3_600_000;
    loop {
        for key in core.timers.take(core.now().millis()) {
            core.send(&key, Command::Wake);
        }
        let wait = core.timers.first().map_or(LONGEST, |at| at.saturating_sub(core.now().millis()));
        let wait = Duration::from_millis(wait.clamp(1, LONGEST) as u64);
        tokio::select! {
            () = core.timers.changed.notified() => {}
            () = tokio::time::sleep(wait) => {}
            () = core.stop.cancelled() => return,
        }
    }
}
