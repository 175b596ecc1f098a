//! Moves committed pages from the write-ahead file into the store, beside the commits.
//!
//! A checkpoint beside running commits never quite catches up, and the file begins anew only when it has. So once it
//! is nearly through, the writer is asked to do the small rest between two commits.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use riverrun_log::Urgency;
use rusqlite::Connection;

use crate::failure::{Severity, severity};
use crate::schema;
use crate::shared::Shared;

/// Also looks without being called, so that a quiet store ends up with its pages in place.
const PERIOD: Duration = Duration::from_secs(5);
/// How far the witness is behind at most.
const NOTE: Duration = Duration::from_secs(1);

/// How long the commits wait at most for a checkpoint, where the disk is nearly full, and each time for its readers.
const OTHERS: Duration = Duration::from_secs(2);
const READERS: Duration = Duration::from_millis(100);

pub fn run(shared: &Arc<Shared>, connection: &Connection) {
    let _ = schema::configure(connection);
    let mut copied = Instant::now();
    while shared.checkpoint.wait(NOTE) {
        if shared.failure().is_some() {
            continue;
        }
        if let Err(error) = shared.keeper.note() {
            shared.fail(&format!("the witness cannot be written: {error}"));
        }
        let pages = shared.wal_pages.load(Ordering::Relaxed);
        if pages == 0 || (copied.elapsed() < PERIOD && !shared.is_time_to_copy(pages)) {
            continue;
        }
        copied = Instant::now();
        match checkpoint(connection) {
            Ok(frames) => finish_if_large(shared, frames),
            Err(error) if severity(&error) == Severity::Fatal => shared.fail(&error.to_string()),
            // A full or damaged store shows itself where it matters, in a commit or a read.
            Err(_) => {}
        }
    }
}

/// Copies what can be copied without waiting for anybody. Answers the frames that the file held when it began; those
/// that were committed meanwhile come on top, so the count never tells that all are copied.
pub fn checkpoint(connection: &Connection) -> rusqlite::Result<u64> {
    let frames: i64 = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| row.get(1))?;
    Ok(u64::try_from(frames).unwrap_or(0))
}

/// Copies everything and lets the next commit begin the file anew, for the only one that commits. Waits a while for
/// readers of the file and for a checkpoint of another thread; what it could not copy stays in the file.
pub fn restart(connection: &Connection) -> rusqlite::Result<()> {
    let began = Instant::now();
    connection.busy_timeout(READERS)?;
    let result = loop {
        match connection.query_row("PRAGMA wal_checkpoint(RESTART)", [], |row| row.get::<_, bool>(0)) {
            Ok(true) if began.elapsed() < OTHERS => std::thread::sleep(Duration::from_millis(1)),
            result => break result.map(drop),
        }
    };
    schema::set_patience(connection)?;
    result
}

/// Copies everything. True if it did, and nobody committed meanwhile: for the only one that commits.
pub fn whole_checkpoint(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| {
        Ok(row.get::<_, i64>(0)? == 0 && row.get::<_, i64>(1)? == row.get::<_, i64>(2)?)
    })
}

fn finish_if_large(shared: &Arc<Shared>, frames: u64) {
    shared.wal_pages.store(0, Ordering::Relaxed);
    if frames * 4096 < shared.options.wal_bytes / 2 {
        return;
    }
    let done = shared.queue.submit(Urgency::Reserved, |core| {
        core.finish_checkpoint = true;
        Ok(())
    });
    let _ = done.wait();
}
