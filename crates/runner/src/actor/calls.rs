//! The model calls of a session. Their answers are read in the actor's own task: what a model says is at hand without
//! a detour over another one, and what it says while the log is being written waits in the socket and is read at once.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::{AbortHandle, Abortable};
use futures_util::stream::FuturesUnordered;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::drive::Reported;

type Call = Abortable<Pin<Box<dyn Future<Output = ()> + Send>>>;

#[derive(Default)]
pub(super) struct Calls {
    /// Never locked: a lock lets others hold a reference to what only its owner may touch.
    open: Mutex<FuturesUnordered<Call>>,
    /// Until when text is held back, so that it comes in larger bites.
    rest: Option<Instant>,
}

impl Calls {
    pub fn begin(&mut self, call: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        let (handle, registration) = AbortHandle::new_pair();
        self.open().push(Abortable::new(Box::pin(call), registration));
        // It begins now, whatever the actor does next; who wakes it until then is remembered among the calls.
        let _ = self.open().poll_next_unpin(&mut Context::from_waker(Waker::noop()));
        handle
    }

    fn open(&mut self) -> &mut FuturesUnordered<Call> {
        self.open.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// Holds text back for so long.
    pub fn rest(&mut self, time: Duration) {
        self.rest = (!time.is_zero()).then(|| Instant::now() + time);
    }

    /// Waits until text may be written, and reads what was said meanwhile. Most text comes when nothing holds it back:
    /// no timer is set for that.
    pub async fn breathe(&mut self) {
        let Some(until) = self.rest.take().filter(|until| *until > Instant::now()) else { return };
        tokio::time::sleep_until(until).await;
        let open = self.open();
        poll_fn(|context| {
            while let Poll::Ready(Some(_)) = open.poll_next_unpin(context) {}
            Poll::Ready(())
        })
        .await;
    }

    /// The next report of any effect. The calls are read until one of them has something to tell.
    pub async fn next(&mut self, reported: &mut mpsc::Receiver<Reported>) -> Option<Reported> {
        let open = self.open();
        poll_fn(|context| {
            // An ended call has told its end before.
            while let Poll::Ready(Some(_)) = open.poll_next_unpin(context) {}
            reported.poll_recv(context)
        })
        .await
    }
}
