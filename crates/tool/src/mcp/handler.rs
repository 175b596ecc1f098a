//! What a server tells without being asked.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard};

use rmcp::ClientHandler;
use rmcp::model::{ClientConfig, Implementation, ProgressNotificationParam, ProgressToken};
use rmcp::service::{NotificationContext, RoleClient};
use tokio::sync::watch;

use crate::{Progress, ProgressSink};

/// Progress that came before its call was known here.
const EARLY: usize = 64;

pub(super) struct Handler {
    /// Counts the changes of the server's list.
    changes: watch::Sender<u64>,
    watchers: Mutex<Watchers>,
}

#[derive(Default)]
struct Watchers {
    sinks: HashMap<ProgressToken, ProgressSink>,
    early: VecDeque<(ProgressToken, Progress)>,
}

impl Handler {
    pub fn new(changes: watch::Sender<u64>) -> Self {
        Self { changes, watchers: Mutex::default() }
    }

    pub fn watch(&self, token: ProgressToken, sink: ProgressSink) {
        let mut watchers = self.watchers();
        let Watchers { sinks, early } = &mut *watchers;
        early.retain(|(of, progress)| {
            if *of == token {
                sink(progress.clone());
            }
            *of != token
        });
        sinks.insert(token, sink);
    }

    pub fn unwatch(&self, token: &ProgressToken) {
        self.watchers().sinks.remove(token);
    }

    fn watchers(&self) -> MutexGuard<'_, Watchers> {
        self.watchers.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn tell(&self, told: ProgressNotificationParam) {
        let fraction =
            told.total.filter(|total| *total > 0.0).map(|total| (told.progress / total).clamp(0.0, 1.0));
        let progress = Progress { message: told.message, fraction, partial: None };
        let mut watchers = self.watchers();
        match watchers.sinks.get(&told.progress_token) {
            Some(sink) => sink(progress),
            None => {
                watchers.early.push_back((told.progress_token, progress));
                let beyond = watchers.early.len().saturating_sub(EARLY);
                watchers.early.drain(..beyond);
            }
        }
    }
}

impl ClientHandler for Handler {
    async fn on_progress(&self, told: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.tell(told);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changes.send_modify(|changes| *changes += 1);
    }

    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(Default::default(), Implementation::new("riverrun", env!("CARGO_PKG_VERSION")))
    }
}
