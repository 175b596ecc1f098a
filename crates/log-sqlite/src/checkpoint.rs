//! Moves committed pages from the write-ahead file into the store, beside the commits.
//!
//! A checkpoint beside running commits never quite catches up, and the file begins anew only when it has. So once it
//! is nearly through, the writer is asked to do the small rest between two commits.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use riverrun_log::Urgency;
use rusqlite::Connection;

use crate::failure::{Severity, severity};
use crate::schema;
use crate::shared::Shared;

/// Also looks without being called, so that a quiet store ends up with its pages in place.
const PERIOD: Duration = Duration::from_secs(5);

pub fn run(shared: &Arc<Shared>, connection: &Connection) {
    let _ = schema::configure(connection);
    while shared.checkpoint.wait(PERIOD) {
        if shared.wal_pages.load(Ordering::Relaxed) == 0 || shared.failure().is_some() {
            continue;
        }
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
