//! The signal that the server is going away. Streams observe it, say goodbye and end; the accept loop stops.

use tokio::sync::watch;

/// One shared switch, off to on, never back.
#[derive(Debug, Clone)]
pub struct Drain(watch::Sender<bool>);

impl Drain {
    pub fn new() -> Self {
        Self(watch::Sender::new(false))
    }

    /// Starts the drain. Calling it again changes nothing.
    pub fn start(&self) {
        self.0.send_replace(true);
    }

    pub fn is_started(&self) -> bool {
        *self.0.borrow()
    }

    /// Resolves when the drain starts, at once if it has.
    pub async fn started(&self) {
        let mut receiver = self.0.subscribe();
        // The sender lives in `self`, so the wait cannot fail.
        let _ = receiver.wait_for(|started| *started).await;
    }

    /// For those who poll by themselves.
    pub fn watch(&self) -> watch::Receiver<bool> {
        self.0.subscribe()
    }
}

impl Default for Drain {
    fn default() -> Self {
        Self::new()
    }
}
