//! A few threads that answer what needs the disk, so that no caller waits for it.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use riverrun_log::{LogError, LogTicket};
use rusqlite::Connection;

use crate::connection;
use crate::failure::{TransactionFault, to_error};
use crate::signal::lock;

type Question = Box<dyn FnOnce(&Connection) + Send>;

pub struct Readers {
    inner: Arc<Inner>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

#[derive(Default)]
struct Inner {
    questions: Mutex<(VecDeque<Question>, bool)>,
    asked: Condvar,
}

impl Readers {
    pub fn start(path: &Path, count: usize) -> rusqlite::Result<Self> {
        let inner = Arc::new(Inner::default());
        let mut threads = Vec::new();
        for n in 0..count.max(1) {
            let connection = connection::open_reader(path)?;
            let inner = Arc::clone(&inner);
            let thread = std::thread::Builder::new().name(format!("log-reader-{n}"));
            let thread = thread.spawn(move || inner.answer_all(&connection));
            threads.push(thread.map_err(|_| rusqlite::Error::InvalidQuery)?);
        }
        Ok(Self { inner, threads: Mutex::new(threads) })
    }

    pub fn ask<T, F>(&self, question: F) -> LogTicket<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, TransactionFault> + Send + 'static,
    {
        let (promise, ticket) = LogTicket::pending();
        let mut questions = lock(&self.inner.questions);
        if questions.1 {
            return LogTicket::ready(Err(LogError::Closed));
        }
        questions.0.push_back(Box::new(move |connection| {
            promise.resolve(question(connection).map_err(TransactionFault::into_error));
        }));
        drop(questions);
        self.inner.asked.notify_one();
        ticket
    }

    /// Answers what was asked and ends.
    pub fn close(&self) {
        lock(&self.inner.questions).1 = true;
        self.inner.asked.notify_all();
        for thread in lock(&self.threads).drain(..) {
            let _ = thread.join();
        }
    }
}

impl Inner {
    fn answer_all(&self, connection: &Connection) {
        loop {
            let mut questions = lock(&self.questions);
            while questions.0.is_empty() && !questions.1 {
                questions = self.asked.wait(questions).unwrap_or_else(PoisonError::into_inner);
            }
            let Some(question) = questions.0.pop_front() else { return };
            drop(questions);
            question(connection);
        }
    }
}

/// For questions whose only failures are the store's.
pub fn plain<T>(result: rusqlite::Result<T>) -> Result<T, TransactionFault> {
    result.map_err(|error| TransactionFault::Refused(to_error(&error)))
}
