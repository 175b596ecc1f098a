//! The signal that the server is going away. Streams observe it, say goodbye and end; the accept loop stops.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::watch;

/// One shared switch, off to on, never back.
#[derive(Debug, Clone)]
pub struct Drain {
    started: watch::Sender<bool>,
    /// How long connections have, if they do not have the whole time.
    time: Arc<OnceLock<Duration>>,
}

impl Drain {
    /// Nothing is drained yet.
    pub fn new() -> Self {
        Self { started: watch::Sender::new(false), time: Arc::default() }
    }

    /// Starts the drain. Calling it again changes nothing.
    pub fn start(&self) {
        self.started.send_replace(true);
    }

    /// Starts the drain with less time than the limits give.
    pub fn start_for(&self, time: Duration) {
        // Who started it first said how long.
        let _ = self.time.set(time);
        self.start();
    }

    /// How long the drain may take, once that is set.
    pub fn time(&self) -> Option<Duration> {
        self.time.get().copied()
    }

    /// True once the process is going down.
    pub fn is_started(&self) -> bool {
        *self.started.borrow()
    }

    /// Resolves when the drain starts, at once if it has.
    pub async fn started(&self) {
        let mut receiver = self.started.subscribe();
        // The sender lives in `self`, so the wait cannot fail.
        let _ = receiver.wait_for(|started| *started).await;
    }

    /// For those who poll by themselves.
    pub fn watch(&self) -> watch::Receiver<bool> {
        self.started.subscribe()
    }
}

impl Default for Drain {
    fn default() -> Self {
        Self::new()
    }
}
