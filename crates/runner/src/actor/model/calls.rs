//! The model calls of a session. Their answers are read in the actor's own task: what a model says is at hand without
//! a detour over another one, and what it says while the log is being written waits in the socket and is read at once.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use futures_util::future::{AbortHandle, Abortable};
use futures_util::task::AtomicWaker;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::drive::{LocalReports, ReportSink, Reported};

#[derive(Default)]
pub(crate) struct OpenCalls {
    /// Never locked: a lock lets others hold a reference to what only its owner may touch.
    open: Mutex<Vec<Call>>,
    actor: Arc<AtomicWaker>,
    /// What they told.
    reports: Arc<LocalReports>,
    /// Until when text is held back, so that it comes in larger bites.
    hold_until: Option<Instant>,
}

struct Call {
    future: Abortable<Pin<Box<dyn Future<Output = ()> + Send>>>,
    bell: Arc<CallWaker>,
    /// Rings the bell.
    waker: Waker,
}

/// Tells which call has something to say. A set of futures of a library would wake the actor once more after every
/// word, to see whether there is another.
struct CallWaker {
    rang: AtomicBool,
    actor: Arc<AtomicWaker>,
}

impl Wake for CallWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.rang.store(true, Ordering::Release);
        self.actor.wake();
    }
}

impl Call {
    /// Reads on if there is something to read. False once it is over.
    fn goes_on(&mut self) -> bool {
        !self.bell.rang.swap(false, Ordering::AcqRel)
            || Pin::new(&mut self.future).poll(&mut Context::from_waker(&self.waker)).is_pending()
    }
}

impl OpenCalls {
    pub fn begin(&mut self, call: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        let (handle, registration) = AbortHandle::new_pair();
        let bell = Arc::new(CallWaker { rang: AtomicBool::new(true), actor: Arc::clone(&self.actor) });
        let waker = Waker::from(Arc::clone(&bell));
        let mut call = Call { future: Abortable::new(Box::pin(call), registration), bell, waker };
        // It begins now, whatever the actor does next.
        if call.goes_on() {
            self.open().push(call);
        }
        handle
    }

    /// Where a call reports to.
    pub fn reports(&self) -> ReportSink {
        ReportSink::Local(Arc::clone(&self.reports))
    }

    fn open(&mut self) -> &mut Vec<Call> {
        self.open.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads all that the calls have to say now, and wakes the actor when there is more.
    fn read(&mut self, context: &Context<'_>) {
        self.actor.register(context.waker());
        self.open().retain_mut(Call::goes_on);
    }

    /// Holds text back for so long.
    pub fn hold_text(&mut self, time: Duration) {
        self.hold_until = (!time.is_zero()).then(|| Instant::now() + time);
    }

    /// Waits until text may be written, and reads what was said meanwhile. Most text comes when nothing holds it back:
    /// no timer is set for that.
    pub async fn wait_to_coalesce(&mut self) {
        let Some(until) = self.hold_until.take().filter(|until| *until > Instant::now()) else { return };
        tokio::time::sleep_until(until).await;
        poll_fn(|context| {
            self.read(context);
            Poll::Ready(())
        })
        .await;
    }

    /// The next report of any effect. The calls are read until one of them has something to tell.
    pub async fn next(&mut self, reported: &mut mpsc::Receiver<Reported>) -> Option<Reported> {
        poll_fn(|context| {
            // An ended call has told its end before.
            self.read(context);
            // Others are heard first: a model that never pauses must not silence them, and they speak rarely.
            match reported.poll_recv(context) {
                Poll::Ready(report) => Poll::Ready(report),
                Poll::Pending => {
                    self.reports.take().map_or(Poll::Pending, |report| Poll::Ready(Some(report)))
                }
            }
        })
        .await
    }

    /// A report that waits already.
    pub fn next_now(&mut self, reported: &mut mpsc::Receiver<Reported>) -> Option<Reported> {
        self.reports.take().or_else(|| reported.try_recv().ok())
    }
}
