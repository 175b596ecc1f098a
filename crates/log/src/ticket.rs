//! A result that is not there yet.
//!
//! Engines answer every call with a [`Ticket`]: a future for async callers, a blocking `wait` for threads.
//! There is no runtime behind it, so an engine may resolve it from any thread.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::Error;

/// The answer to one call on a log. Dropping it does not undo the call.
#[must_use = "the outcome of a call on the log is known only when its ticket resolves"]
pub struct Ticket<T>(Inner<T>);

enum Inner<T> {
    Ready(Option<Result<T, Error>>),
    Pending(Arc<Shared<T>>),
}

/// The engine's end of a ticket. Dropped unresolved, the ticket answers [`Error::Closed`].
pub struct Promise<T>(Arc<Shared<T>>);

struct Shared<T> {
    slot: Mutex<Slot<T>>,
    resolved: Condvar,
}

struct Slot<T> {
    value: Option<Result<T, Error>>,
    waker: Option<Waker>,
    blocked: bool,
    resolved: bool,
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, Slot<T>> {
        // A slot is never left half written, so a panic elsewhere does not spoil it.
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Ticket<T> {
    /// A ticket that is resolved already.
    pub fn ready(result: Result<T, Error>) -> Self {
        Self(Inner::Ready(Some(result)))
    }

    /// A ticket and the promise that resolves it.
    pub fn pending() -> (Promise<T>, Self) {
        let slot = Mutex::new(Slot { value: None, waker: None, blocked: false, resolved: false });
        let shared = Arc::new(Shared { slot, resolved: Condvar::new() });
        (Promise(Arc::clone(&shared)), Self(Inner::Pending(shared)))
    }

    /// Blocks the calling thread until the answer is there. Not for async code: await the ticket there.
    pub fn wait(self) -> Result<T, Error> {
        match self.0 {
            Inner::Ready(value) => value.unwrap_or(Err(Error::Closed)),
            Inner::Pending(shared) => {
                let mut slot = shared.lock();
                loop {
                    if let Some(value) = slot.value.take() {
                        return value;
                    }
                    slot.blocked = true;
                    slot = shared.resolved.wait(slot).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }
}

impl<T> Promise<T> {
    pub fn resolve(self, result: Result<T, Error>) {
        self.fill(result);
    }

    fn fill(&self, result: Result<T, Error>) {
        let mut slot = self.0.lock();
        if slot.resolved {
            return;
        }
        slot.resolved = true;
        slot.value = Some(result);
        let waker = slot.waker.take();
        let blocked = slot.blocked;
        drop(slot);
        if let Some(waker) = waker {
            waker.wake();
        }
        if blocked {
            self.0.resolved.notify_all();
        }
    }
}

impl<T> Drop for Promise<T> {
    fn drop(&mut self) {
        self.fill(Err(Error::Closed));
    }
}

impl<T> Future for Ticket<T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            Inner::Ready(value) => Poll::Ready(value.take().unwrap_or(Err(Error::Closed))),
            Inner::Pending(shared) => {
                let mut slot = shared.lock();
                if let Some(value) = slot.value.take() {
                    return Poll::Ready(value);
                }
                slot.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

// Nothing in a ticket is self-referential.
impl<T> Unpin for Ticket<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_resolves_across_threads() {
        let (promise, ticket) = Ticket::pending();
        let thread = std::thread::spawn(move || promise.resolve(Ok(7)));
        assert_eq!(ticket.wait(), Ok(7));
        assert!(thread.join().is_ok());
    }

    #[test]
    fn an_abandoned_promise_answers_closed() {
        let (promise, ticket) = Ticket::<u8>::pending();
        drop(promise);
        assert_eq!(ticket.wait(), Err(Error::Closed));
    }
}
