//! Copying committed pages from the write-ahead file into the store.

use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::connection::set_patience;

/// How long the commits wait at most for a checkpoint, where the disk is nearly full, and each time for its readers.
const OTHERS: Duration = Duration::from_secs(2);
const READERS: Duration = Duration::from_millis(100);

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
    set_patience(connection)?;
    result
}

/// Copies everything. True if it did, and nobody committed meanwhile: for the only one that commits.
pub fn whole_checkpoint(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| {
        Ok(row.get::<_, i64>(0)? == 0 && row.get::<_, i64>(1)? == row.get::<_, i64>(2)?)
    })
}
