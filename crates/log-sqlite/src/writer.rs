//! The one thread that writes: gather, one transaction, sync, notify.
//!
//! ```text
//! queue ─▶ BEGIN ─▶ each work in order ─▶ group + heads ─▶ COMMIT (fdatasync) ─▶ publish ─▶ listener ─▶ tickets
//!                        │ refused: only it            │ store error: ROLLBACK, all are told
//! ```

use std::sync::Arc;
use std::time::{Duration, Instant};

use riverrun_log::seeded::{self, Bug};
use riverrun_log::{DurableAppend, LogError, LogHealth, Promise, Urgency};
use rusqlite::config::DbConfig;

use crate::checkpoint::{checkpoint, restart, whole_checkpoint};
use crate::engine::Engine;
use crate::failure::{Severity, TransactionFault, severity, to_error};
use crate::marks;
use crate::queue::{Work, WriterJob, refuse};
use crate::writer_state::{CommittedGroup, WriterState};

use crate::slot::Live;

/// How often a full disk is tried again.
const PROBE: Duration = Duration::from_millis(250);
/// Free pages inside the store that make it worth trying although the disk is full.
const FREE_PAGES: u64 = 64;
const PAGE: u64 = 4096;
/// Room on the disk that a few works that end others need.
const ENDING: u64 = 1 << 20;
/// How often it is tried to set the reserve aside again while work goes on without it.
const COMPLETE: Duration = Duration::from_secs(5);

pub struct Writer {
    state: WriterState,
    engine: Arc<Engine>,
    probed: Instant,
    /// Work goes on in the store's free pages, and the disk has no room for the reserve.
    is_short: bool,
}

/// What a work came to, kept until the commit decides.
enum Answer {
    Append(Promise<DurableAppend>, Result<DurableAppend, LogError>),
    Job(Box<dyn WriterJob>, Option<LogError>),
}

impl Writer {
    pub fn new(state: WriterState, engine: Arc<Engine>) -> Self {
        Self { state, engine, probed: Instant::now(), is_short: false }
    }

    pub fn run(mut self) {
        // Everybody waits for this thread, and it computes little: it need not wait for those who compute much. Where
        // the system does not grant that, commits are only later.
        let _ = riverrun_thread_slice::take_slices_of(riverrun_thread_slice::SHORTEST);
        let engine = Arc::clone(&self.engine);
        while let Some(works) = engine.queue.next() {
            match engine.failure() {
                Some(error) => works.into_iter().for_each(|work| refuse(work, error.clone())),
                None => self.group(works),
            }
        }
        if engine.failure().is_none() {
            // Nothing is lost if it fails: the write-ahead file stays, and the next start reads it.
            let _ = self.close();
        }
    }

    /// Puts all pages in place, says so durably, and only then lets SQLite remove the write-ahead file.
    fn close(self) -> rusqlite::Result<()> {
        marks::mark_open(&self.state.connection, false)?;
        let is_whole = whole_checkpoint(&self.state.connection)?;
        if is_whole && self.engine.wal_guard.close().is_ok() {
            self.state.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
        }
        Ok(())
    }

    fn group(&mut self, works: Vec<Work>) {
        let works = self.admit(works);
        if works.is_empty() {
            return;
        }
        self.state.forget_idle();
        let mut answers = Vec::with_capacity(works.len());
        match self.transact(works, &mut answers) {
            Ok(()) => {
                if let Err(error) = self.engine.wal_guard.committed(self.engine.health() == LogHealth::Full) {
                    // Durable, but a loss of it could go unnoticed: nobody is told, as after a failed sync.
                    self.engine.fail(&format!("the write-ahead file cannot be kept: {error}"));
                    let failure = LogError::Failed(error.to_string());
                    return answers.into_iter().for_each(|answer| answer.give_failure(failure.clone()));
                }
                let committed = self.state.committed();
                self.publish(committed);
                answers.into_iter().for_each(Answer::give);
                self.finish_checkpoint();
                self.bound_write_ahead_file();
            }
            Err(error) => self.undo(&error, answers),
        }
    }

    fn finish_checkpoint(&mut self) {
        if std::mem::take(&mut self.state.finish_checkpoint) {
            self.copied(checkpoint(&self.state.connection).map(drop));
        }
    }

    /// A disk without room for the pages is no failure.
    fn copied(&self, result: rusqlite::Result<()>) {
        if let Err(error) = result
            && severity(&error) == Severity::Fatal
        {
            self.engine.fail(&error.to_string());
        }
    }

    /// Where the disk is nearly full, the commits wait for a checkpoint that is late.
    ///
    /// When the disk is full, all pages of the write-ahead file have to move into the store before it has room for
    /// what ends work. They must fit what is kept back, however fast the commits come.
    fn bound_write_ahead_file(&self) {
        let (length, usual) = (self.engine.wal_guard.length(), self.engine.options.wal_bytes);
        if length > usual * 2 && self.engine.directory.free() < length + usual * 4 {
            self.copied(restart(&self.state.connection));
        }
    }

    /// On a full disk only what ends work goes on. Every now and then the rest is tried again.
    fn admit(&mut self, works: Vec<Work>) -> Vec<Work> {
        let goes_on = match self.engine.health() {
            LogHealth::Full => self.has_healed(),
            _ => !self.is_short || self.still_has_room(),
        };
        let is_reserved = |work: &Work| match work {
            Work::Append(append, _) => append.urgency == Urgency::Reserved,
            Work::Job(job) => job.urgency() == Urgency::Reserved,
        };
        if goes_on {
            // Nobody noticed yet that the disk is full, and what ends work must not be the first to be refused.
            if works.iter().any(is_reserved) && self.engine.directory.free() < ENDING {
                self.engine.directory.give_reserve();
                self.is_short = true;
            }
            return works;
        }
        let (reserved, normal): (Vec<_>, Vec<_>) = works.into_iter().partition(is_reserved);
        if !reserved.is_empty() && self.engine.directory.free() < ENDING {
            self.engine.directory.give_last_reserve();
        }
        normal.into_iter().for_each(|work| refuse(work, LogError::Full));
        reserved
    }

    fn has_healed(&mut self) -> bool {
        if self.probed.elapsed() < PROBE {
            return false;
        }
        self.probed = Instant::now();
        self.is_short = !self.engine.directory.take_reserve(self.engine.options.reserve_bytes);
        let healed = !self.is_short || self.has_room();
        if healed {
            self.engine.set_health(LogHealth::Ready);
        }
        healed
    }

    /// True if there is room without the reserve, in the store's free pages, and enough stays for what ends work.
    fn has_room(&self) -> bool {
        let pages = self.state.connection.query_row("PRAGMA freelist_count", [], |row| row.get::<_, i64>(0));
        let pages = pages.ok().and_then(|pages| u64::try_from(pages).ok()).unwrap_or(0);
        let room = self.engine.directory.free().saturating_add(pages * PAGE);
        pages >= FREE_PAGES && room >= self.engine.options.reserve_bytes / 4 * 3
    }

    /// Asked while there is no reserve: what is used now must not be what ends work later.
    fn still_has_room(&mut self) -> bool {
        if self.probed.elapsed() >= COMPLETE {
            self.probed = Instant::now();
            self.is_short = !self.engine.directory.take_reserve(self.engine.options.reserve_bytes);
        }
        let has_room = !self.is_short || self.has_room();
        if !has_room {
            self.become_full();
        }
        has_room
    }

    fn become_full(&mut self) {
        self.engine.set_health(LogHealth::Full);
        self.probed = Instant::now();
        // With its pages in place the write-ahead file begins anew, and has room for what ends work. As long as
        // somebody reads, or the disk has no room for the pages, it does not.
        self.copied(restart(&self.state.connection));
    }

    fn transact(&mut self, works: Vec<Work>, answers: &mut Vec<Answer>) -> rusqlite::Result<()> {
        let mut works = works.into_iter();
        let begun =
            self.state.connection.prepare_cached("BEGIN IMMEDIATE").and_then(|mut begin| begin.execute([]));
        let mut result = begun.map(drop);
        while result.is_ok()
            && let Some(work) = works.next()
        {
            result = self.perform(work, answers);
        }
        // Nothing of the rest was tried, but it is told the same: it may try again.
        answers.extend(works.map(|work| match work {
            Work::Append(_, promise) => Answer::Append(promise, Err(LogError::Closed)),
            Work::Job(job) => Answer::Job(job, Some(LogError::Closed)),
        }));
        result?;
        let pages = self.state.write_group()?;
        if seeded::is_on(Bug::AckBeforeCommit) {
            self.acknowledge_early(answers);
        }
        self.commit()?;
        self.engine.note_pages(pages);
        Ok(())
    }

    fn perform(&mut self, work: Work, answers: &mut Vec<Answer>) -> rusqlite::Result<()> {
        let (answer, failed) = match work {
            Work::Append(append, promise) => match self.state.append(*append) {
                Ok(appended) => (Answer::Append(promise, Ok(appended)), None),
                Err(TransactionFault::Refused(error)) => (Answer::Append(promise, Err(error)), None),
                Err(TransactionFault::Store(error)) => {
                    (Answer::Append(promise, Err(to_error(&error))), Some(error))
                }
            },
            Work::Job(mut job) => match job.run(&mut self.state) {
                Ok(()) => (Answer::Job(job, None), None),
                Err(TransactionFault::Refused(error)) => (Answer::Job(job, Some(error)), None),
                Err(TransactionFault::Store(error)) => {
                    (Answer::Job(job, Some(to_error(&error))), Some(error))
                }
            },
        };
        answers.push(answer);
        failed.map_or(Ok(()), Err)
    }

    fn commit(&self) -> rusqlite::Result<()> {
        let commit = || self.state.connection.prepare_cached("COMMIT")?.execute([]).map(drop);
        let first = commit();
        if first.is_err() && seeded::is_on(Bug::RetryFsync) {
            return commit();
        }
        first
    }

    fn acknowledge_early(&mut self, answers: &mut Vec<Answer>) {
        let committed = self.state.committed();
        self.publish(committed);
        answers.drain(..).for_each(Answer::give);
    }

    /// Makes a commit visible, in its order.
    fn publish(&self, committed: CommittedGroup) {
        let CommittedGroup { group, stored, after } = committed;
        let mut news = Vec::with_capacity(stored.len());
        if let Some(group) = group {
            let bytes = stored.iter().map(|stored| stored.chunk.bytes().len()).sum();
            for stored in stored {
                let mut state = stored.slot.lock();
                state.head.advance(&stored.chunk);
                state.updated_at = stored.chunk.time();
                let is_first = state.live.is_empty();
                state.live.push_back(Live { chunk: stored.chunk.clone(), group });
                drop(state);
                let key = stored.slot.key.clone();
                if is_first {
                    self.engine.slots.insert(stored.slot);
                }
                news.push(riverrun_log::Committed { key, chunk: stored.chunk });
            }
            self.engine.add_group(group, bytes);
        }
        after.into_iter().for_each(|action| action());
        if !news.is_empty() {
            self.notify(&news);
        }
    }

    fn notify(&self, news: &[riverrun_log::Committed]) {
        let listener = self.engine.listener.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        if let Some(listener) = listener {
            // A listener that panics must not take the log with it.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| listener(news)));
        }
    }

    /// Nothing of the group happened. Says so to everybody in it.
    fn undo(&mut self, error: &rusqlite::Error, answers: Vec<Answer>) {
        let meaning = severity(error);
        if meaning == Severity::Fatal {
            // Poisoned before anybody is told: whoever hears of it finds the log closed to appends.
            self.engine.fail(&error.to_string());
        }
        if !self.state.connection.is_autocommit() {
            let _ = self.state.connection.execute_batch("ROLLBACK");
        }
        if meaning == Severity::Full {
            if self.engine.health() == LogHealth::Full {
                // Not even what ends work has room.
                self.engine.directory.give_last_reserve();
            }
            self.engine.directory.give_reserve();
            self.become_full();
        }
        self.state.undone();
        let failure = to_error(error);
        answers.into_iter().for_each(|answer| answer.give_failure(failure.clone()));
    }
}

impl Answer {
    fn give(self) {
        match self {
            Answer::Append(promise, result) => promise.resolve(result),
            Answer::Job(job, refused) => job.answer(refused),
        }
    }

    fn give_failure(self, error: LogError) {
        match self {
            Answer::Append(promise, _) => promise.resolve(Err(error)),
            Answer::Job(job, _) => job.answer(Some(error)),
        }
    }
}
