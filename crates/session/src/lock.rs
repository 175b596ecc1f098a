use std::sync::{Mutex, MutexGuard, PoisonError};

/// For data that is replaced whole: a panic elsewhere does not spoil it, so a poisoned lock is as good as another.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
