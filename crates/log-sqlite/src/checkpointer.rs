//! Moves committed pages from the write-ahead file into the store, beside the commits.
//!
//! A checkpoint beside running commits never quite catches up, and the file begins anew only when it has. So once it
//! is nearly through, the writer is asked to do the small rest between two commits.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use riverrun_log::Urgency;
use rusqlite::Connection;

use crate::checkpoint::checkpoint;
use crate::connection::configure;
use crate::engine::Engine;
use crate::failure::{Severity, severity};

/// Also looks without being called, so that a quiet store ends up with its pages in place.
const PERIOD: Duration = Duration::from_secs(5);
/// How far the mark is behind at most.
const NOTE: Duration = Duration::from_secs(1);

pub fn run(engine: &Engine, connection: &Connection) {
    let _ = configure(connection);
    let mut copied = Instant::now();
    while engine.checkpoint.wait(NOTE) {
        if engine.failure().is_some() {
            continue;
        }
        if let Err(error) = engine.wal_guard.note() {
            engine.fail(&format!("the witness cannot be written: {error}"));
        }
        let pages = engine.wal_pages.load(Ordering::Relaxed);
        if pages == 0 || (copied.elapsed() < PERIOD && !engine.is_time_to_copy(pages)) {
            continue;
        }
        copied = Instant::now();
        match checkpoint(connection) {
            Ok(frames) => finish_if_large(engine, frames),
            Err(error) if severity(&error) == Severity::Fatal => engine.fail(&error.to_string()),
            // A full or damaged store shows itself where it matters, in a commit or a read.
            Err(_) => {}
        }
    }
}

fn finish_if_large(engine: &Engine, frames: u64) {
    engine.wal_pages.store(0, Ordering::Relaxed);
    if frames * 4096 < engine.options.wal_bytes / 2 {
        return;
    }
    let done = engine.queue.submit(Urgency::Reserved, |writer| {
        writer.finish_checkpoint = true;
        Ok(())
    });
    let _ = done.wait();
}
