//! Locks and signals between the threads of an engine.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Locks a mutex, also if a thread panicked while it held it.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What these guard is never left half changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Wakes one thread that has something to do, or that must end.
#[derive(Default)]
pub struct Signal {
    state: Mutex<(bool, bool)>,
    raised: Condvar,
}

impl Signal {
    pub fn raise(&self) {
        let mut state = lock(&self.state);
        if !state.0 {
            state.0 = true;
            self.raised.notify_one();
        }
    }

    pub fn end(&self) {
        lock(&self.state).1 = true;
        self.raised.notify_one();
    }

    /// Waits until it is raised or the time is over. False when the thread must end.
    pub fn wait(&self, at_most: Duration) -> bool {
        let state = lock(&self.state);
        let waiting = |state: &mut (bool, bool)| !state.0 && !state.1;
        let (mut state, _) =
            self.raised.wait_timeout_while(state, at_most, waiting).unwrap_or_else(PoisonError::into_inner);
        state.0 = false;
        !state.1
    }
}
