//! A result that is not there yet.
//!
//! Engines answer every call with a [`LogTicket`]: a future for async callers, a blocking `wait` for threads.
//! There is no runtime behind it, so an engine may resolve it from any thread.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::LogError;

/// The answer to one call on a log. Dropping it does not undo the call.
#[must_use = "the outcome of a call on the log is known only when its ticket resolves"]
pub struct LogTicket<T>(Inner<T>);

enum Inner<T> {
    Ready(Option<Result<T, LogError>>),
    Pending(Arc<Shared<T>>),
}

/// The engine's end of a ticket. Dropped unresolved, the ticket answers [`LogError::Closed`].
pub struct Promise<T>(Arc<Shared<T>>);

struct Shared<T> {
    slot: Mutex<Slot<T>>,
    resolved: Condvar,
}

struct Slot<T> {
    value: Option<Result<T, LogError>>,
    waker: Option<Waker>,
    /// The waker is for a failure alone.
    only_failure: bool,
    blocked: bool,
    resolved: bool,
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, Slot<T>> {
        // A slot is never left half written, so a panic elsewhere does not spoil it.
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> LogTicket<T> {
    /// A ticket that is resolved already.
    pub fn ready(result: Result<T, LogError>) -> Self {
        Self(Inner::Ready(Some(result)))
    }

    /// A ticket and the promise that resolves it.
    pub fn pending() -> (Promise<T>, Self) {
        let slot = Mutex::new(Slot {
            value: None,
            waker: None,
            only_failure: false,
            blocked: false,
            resolved: false,
        });
        let shared = Arc::new(Shared { slot, resolved: Condvar::new() });
        (Promise(Arc::clone(&shared)), Self(Inner::Pending(shared)))
    }

    /// True if the answer is there.
    pub fn is_resolved(&self) -> bool {
        match &self.0 {
            Inner::Ready(_) => true,
            Inner::Pending(shared) => shared.lock().resolved,
        }
    }

    /// For who does not need to hear at once that all went well: ready when the call failed, and woken only then.
    pub fn poll_failed(&self, context: &mut Context<'_>) -> Poll<()> {
        let is_failed = |value: &Option<Result<T, LogError>>| matches!(value, Some(Err(_)));
        let (is_failed, slot) = match &self.0 {
            Inner::Ready(value) => (is_failed(value), None),
            Inner::Pending(shared) => {
                let slot = shared.lock();
                (is_failed(&slot.value), Some(slot))
            }
        };
        if is_failed {
            return Poll::Ready(());
        }
        if let Some(mut slot) = slot.filter(|slot| !slot.resolved) {
            slot.only_failure = true;
            match &slot.waker {
                Some(known) if known.will_wake(context.waker()) => {}
                Some(_) | None => slot.waker = Some(context.waker().clone()),
            }
        }
        Poll::Pending
    }

    /// Blocks the calling thread until the answer is there. Not for async code: await the ticket there.
    pub fn wait(self) -> Result<T, LogError> {
        match self.0 {
            Inner::Ready(value) => value.unwrap_or(Err(LogError::Closed)),
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
    /// Gives the ticket its result and wakes who waits.
    pub fn resolve(self, result: Result<T, LogError>) {
        self.fill(result);
    }

    fn fill(&self, result: Result<T, LogError>) {
        let mut slot = self.0.lock();
        if slot.resolved {
            return;
        }
        slot.resolved = true;
        let is_news = result.is_err() || !slot.only_failure;
        slot.value = Some(result);
        let waker = slot.waker.take().filter(|_| is_news);
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
        self.fill(Err(LogError::Closed));
    }
}

impl<T> Future for LogTicket<T> {
    type Output = Result<T, LogError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            Inner::Ready(value) => Poll::Ready(value.take().unwrap_or(Err(LogError::Closed))),
            Inner::Pending(shared) => {
                let mut slot = shared.lock();
                if let Some(value) = slot.value.take() {
                    return Poll::Ready(value);
                }
                slot.waker = Some(context.waker().clone());
                slot.only_failure = false;
                Poll::Pending
            }
        }
    }
}

// Nothing in a ticket is self-referential.
impl<T> Unpin for LogTicket<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_resolves_across_threads() {
        let (promise, ticket) = LogTicket::pending();
        let thread = std::thread::spawn(move || promise.resolve(Ok(7)));
        assert_eq!(ticket.wait(), Ok(7));
        assert!(thread.join().is_ok());
    }

    #[test]
    fn who_waits_for_a_failure_hears_of_nothing_else() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        #[derive(Default)]
        struct Count(AtomicUsize);
        impl std::task::Wake for Count {
            fn wake(self: Arc<Self>) {
                self.0.fetch_add(1, Ordering::SeqCst);
            }
        }
        for (result, woken) in [(Ok(7), 0), (Err(LogError::Full), 1)] {
            let count = Arc::new(Count::default());
            let waker = Waker::from(Arc::clone(&count));
            let mut context = Context::from_waker(&waker);
            let (promise, ticket) = LogTicket::<u8>::pending();
            assert!(ticket.poll_failed(&mut context).is_pending() && !ticket.is_resolved());
            promise.resolve(result.clone());
            assert_eq!(count.0.load(Ordering::SeqCst), woken);
            assert_eq!(ticket.poll_failed(&mut context).is_ready(), result.is_err());
            assert!(ticket.is_resolved());
            assert_eq!(ticket.wait(), result);
        }
        // Who waits for the answer after all is woken by it.
        let count = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&count));
        let mut context = Context::from_waker(&waker);
        let (promise, mut ticket) = LogTicket::<u8>::pending();
        assert!(ticket.poll_failed(&mut context).is_pending());
        assert!(Pin::new(&mut ticket).poll(&mut context).is_pending());
        promise.resolve(Ok(7));
        assert_eq!(count.0.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn an_abandoned_promise_answers_closed() {
        let (promise, ticket) = LogTicket::<u8>::pending();
        drop(promise);
        assert_eq!(ticket.wait(), Err(LogError::Closed));
    }
}
