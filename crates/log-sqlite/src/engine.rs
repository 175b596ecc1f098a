//! What every thread of an engine can reach: the shared state, and the queue of the one that writes.

use std::ops::Deref;
use std::sync::Arc;

use crate::queue::Queue;
use crate::shared::Shared;

pub struct Engine {
    pub shared: Arc<Shared>,
    /// Changes that wait for the writing thread.
    pub queue: Queue,
}

impl Deref for Engine {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}
