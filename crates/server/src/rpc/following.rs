//! The subscriptions of one connection: many cursors, one socket. Nothing is read for them while it is full.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::Stream;
use riverrun_dialect::{Dialect, MessageKind};

use crate::websocket::Output;
use riverrun_session::{Messages, Subscription, lock};

/// Output beyond this waits in the log, not here.
pub const FULL: usize = 64 * 1024;

/// The name of a subscription on its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SubscriptionId(u64);

impl SubscriptionId {
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }

    pub fn parse(text: &str) -> Option<Self> {
        let id = Self(text.strip_prefix("sub_")?.parse().ok()?);
        Some(id).filter(|id| id.to_string() == text)
    }
}

impl fmt::Display for SubscriptionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sub_{}", self.0)
    }
}

/// One subscription and the words around its frames.
pub struct Following {
    id: SubscriptionId,
    subscription: Box<Subscription>,
    event_head: String,
    event_middle: &'static str,
    stream_head: String,
    /// Messages that are not in the output yet. They are shared with other readers.
    messages: Messages,
}

/// How far a look at a subscription came.
enum Look {
    /// The output is full; there is more at hand.
    Full,
    /// It said something; others are next.
    Said,
    /// It waits for news.
    Waits,
    Over,
}

impl Following {
    pub fn new(id: SubscriptionId, dialect: Dialect, subscription: Subscription) -> Self {
        let head = |method| {
            format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":{{\"subscription\":\"{id}\",")
        };
        Self {
            id,
            subscription: Box::new(subscription),
            event_head: head("session.event"),
            event_middle: if dialect == Dialect::Native { "\"event\":" } else { "\"frame\":" },
            stream_head: head("session.stream"),
            messages: Messages::default(),
        }
    }

    pub fn id(&self) -> SubscriptionId {
        self.id
    }

    fn look(&mut self, context: &mut Context<'_>, output: &mut Output) -> Look {
        loop {
            self.write(output);
            if !self.messages.is_over() {
                return Look::Full;
            }
            match Pin::new(&mut *self.subscription).poll_next(context) {
                Poll::Pending => return Look::Waits,
                Poll::Ready(None) => return Look::Over,
                Poll::Ready(Some(Ok(batch))) => self.messages = Messages::new(batch),
                Poll::Ready(Some(Err(cut))) => {
                    let reason = serde_json::Value::from(cut.to_string()).to_string();
                    output.text(&[&self.stream_head, "\"type\":\"stream.cut\",\"reason\":", &reason, "}}"]);
                    return Look::Over;
                }
            }
            self.write(output);
            // What is encoded goes out before others encode theirs, so that one connection holds one reader's worth.
            if self.messages.is_over() && !self.subscription.has_ready() {
                return Look::Said;
            }
        }
    }

    /// Puts messages into the output until it is full.
    fn write(&mut self, output: &mut Output) {
        while output.queued() < FULL {
            let Some(message) = self.messages.next() else { return };
            let json = message.json;
            match message.kind {
                // The object goes on where the head of the message stops.
                MessageKind::Control(_) => {
                    output.text(&[&self.stream_head, json.get(1..).unwrap_or("}"), "}"]);
                }
                MessageKind::Frame(None) => output.text(&[&self.event_head, self.event_middle, json, "}}"]),
                MessageKind::Frame(Some(cursor)) => {
                    let (head, cursor): (&str, _) = (&self.event_head, cursor.to_string());
                    output.text(&[head, "\"cursor\":\"", &cursor, "\",", self.event_middle, json, "}}"])
                }
            }
        }
    }
}

/// All subscriptions of a connection. Only those that were woken are looked at, in turn.
#[derive(Default)]
pub struct Followings {
    all: HashMap<SubscriptionId, (Following, Arc<Flag>)>,
    woken: Arc<Woken>,
    /// The one that has more at hand.
    current: Option<SubscriptionId>,
}

#[derive(Default)]
struct Woken {
    queue: Mutex<VecDeque<SubscriptionId>>,
    /// The task of the connection.
    task: Mutex<Option<Waker>>,
}

/// The waker of one subscription.
struct Flag {
    id: SubscriptionId,
    is_queued: AtomicBool,
    woken: Arc<Woken>,
}

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        if self.is_queued.swap(true, Ordering::AcqRel) {
            return;
        }
        lock(&self.woken.queue).push_back(self.id);
        let task = lock(&self.woken.task).take();
        if let Some(task) = task {
            task.wake();
        }
    }
}

impl Followings {
    pub fn add(&mut self, following: Following) {
        let id = following.id;
        let flag = Arc::new(Flag { id, is_queued: AtomicBool::new(false), woken: self.woken.clone() });
        self.all.insert(id, (following, flag.clone()));
        flag.wake();
    }

    /// From here on nothing of it comes.
    pub fn remove(&mut self, id: SubscriptionId) {
        self.all.remove(&id);
    }

    pub fn ids(&self) -> BTreeSet<SubscriptionId> {
        self.all.keys().copied().collect()
    }

    /// Lets subscriptions speak until the output is full or none has anything to say. Ready if one spoke.
    pub fn poll(&mut self, context: &mut Context<'_>, output: &mut Output) -> Poll<()> {
        let before = output.queued();
        *lock(&self.woken.task) = Some(context.waker().clone());
        while output.queued() < FULL {
            let next = self.current.take().or_else(|| lock(&self.woken.queue).pop_front());
            let Some(id) = next else { break };
            let Some((following, flag)) = self.all.get_mut(&id) else { continue };
            flag.is_queued.store(false, Ordering::Release);
            let waker = Waker::from(flag.clone());
            match following.look(&mut Context::from_waker(&waker), output) {
                Look::Full => self.current = Some(id),
                Look::Said => waker.wake(),
                Look::Waits => {}
                Look::Over => self.remove(id),
            }
        }
        if output.queued() > before { Poll::Ready(()) } else { Poll::Pending }
    }
}
