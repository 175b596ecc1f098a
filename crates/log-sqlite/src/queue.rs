//! What waits for the writer. Whatever gathered while the last commit ran becomes the next group; where many came
//! together before, the writer waits a moment for as many again: a commit costs the same for one as for all of them.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use riverrun_log::{Append, DurableAppend, LogError, LogTicket, Promise, Urgency};

use crate::failure::TransactionFault;
use crate::writer_state::WriterState;

pub enum Work {
    Append(Box<Append>, Promise<DurableAppend>),
    Job(Box<dyn WriterJob>),
}

/// Any other change. It runs inside the transaction of a group and is answered after its commit.
pub trait WriterJob: Send {
    fn urgency(&self) -> Urgency;
    /// Runs it. Once it succeeded, the answer is kept until the commit.
    fn run(&mut self, writer: &mut WriterState) -> Result<(), TransactionFault>;
    /// Answers: what it came to, or why there was no commit.
    fn answer(self: Box<Self>, failed: Option<LogError>);
}

struct Operation<T, F> {
    urgency: Urgency,
    work: Option<F>,
    value: Option<T>,
    promise: Promise<T>,
}

impl<T: Send, F: FnOnce(&mut WriterState) -> Result<T, TransactionFault> + Send> WriterJob
    for Operation<T, F>
{
    fn urgency(&self) -> Urgency {
        self.urgency
    }

    fn run(&mut self, writer: &mut WriterState) -> Result<(), TransactionFault> {
        if let Some(work) = self.work.take() {
            self.value = Some(work(writer)?);
        }
        Ok(())
    }

    fn answer(self: Box<Self>, failed: Option<LogError>) {
        let result = match (failed, self.value) {
            (Some(error), _) => Err(error),
            (None, Some(value)) => Ok(value),
            (None, None) => Err(LogError::Closed),
        };
        self.promise.resolve(result);
    }
}

/// Most bytes of chunks that one group takes; more waits for the next, so that nobody waits for a giant commit.
const GROUP_BYTES: usize = 4 << 20;

/// A group of this many is a crowd, whose like is waited for. Fewer are written at once.
const CROWD: usize = 8;
/// The longest that a crowd is waited for.
const PATIENCE: Duration = Duration::from_millis(1);

#[derive(Default)]
pub struct Queue {
    state: Mutex<State>,
    filled: Condvar,
}

#[derive(Default)]
struct State {
    waiting: Vec<Work>,
    closed: bool,
    /// The writer sleeps and must be woken once so many wait.
    wake_at: Option<usize>,
    /// How many the largest of the last groups had. It is forgotten by and by, so that one small group between large
    /// ones does not end the waiting.
    crowd: usize,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn push(&self, work: Work) {
        let mut state = self.lock();
        if state.closed {
            drop(state);
            return refuse(work, LogError::Closed);
        }
        state.waiting.push(work);
        let waiting = state.waiting.len();
        let wake = state.wake_at.take_if(|count| waiting >= *count).is_some();
        drop(state);
        if wake {
            self.filled.notify_one();
        }
    }

    pub fn submit<T, F>(&self, urgency: Urgency, work: F) -> LogTicket<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut WriterState) -> Result<T, TransactionFault> + Send + 'static,
    {
        let (promise, ticket) = LogTicket::pending();
        self.push(Work::Job(Box::new(Operation { urgency, work: Some(work), value: None, promise })));
        ticket
    }

    /// The next group, in order. Blocks while there is nothing; None once closed and empty.
    pub fn next(&self) -> Option<Vec<Work>> {
        let mut state = self.lock();
        while state.waiting.is_empty() {
            if state.closed {
                return None;
            }
            state.wake_at = Some(1);
            state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.crowd >= CROWD {
            state = self.gather(state);
        }
        let mut bytes = 0;
        let mut fits = |work: &Work| {
            bytes += if let Work::Append(append, _) = work { append.chunk.bytes().len() } else { 0 };
            bytes <= GROUP_BYTES
        };
        let count = state.waiting.iter().take_while(|work| fits(work)).count().max(1);
        state.crowd = count.max(state.crowd * 3 / 4);
        if count == state.waiting.len() {
            return Some(std::mem::take(&mut state.waiting));
        }
        let later = state.waiting.split_off(count);
        Some(std::mem::replace(&mut state.waiting, later))
    }

    /// Waits until as many wait as the last groups had, but not for long.
    fn gather<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let until = Instant::now() + PATIENCE;
        while state.waiting.len() < state.crowd && !state.closed {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state.wake_at = Some(state.crowd);
            state = self.filled.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.wake_at = None;
        state
    }

    pub fn close(&self) {
        self.lock().closed = true;
        self.filled.notify_one();
    }

    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }
}

pub fn refuse(work: Work, error: LogError) {
    match work {
        Work::Append(_, promise) => promise.resolve(Err(error)),
        Work::Job(job) => job.answer(Some(error)),
    }
}
