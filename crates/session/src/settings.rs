//! What an owner of sessions may set, also while they are in use.

use std::time::Duration;

/// Limits and intervals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Events above this size have their long strings stored as blobs.
    pub event_bytes: usize,
    /// How often an idle stream says that it is alive.
    pub ping_every: Duration,
    /// How long it is known that a session was deleted; zero is not at all.
    pub deletions: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            event_bytes: 256 * 1024,
            ping_every: Duration::from_secs(15),
            deletions: Duration::from_secs(30 * 24 * 60 * 60),
        }
    }
}
