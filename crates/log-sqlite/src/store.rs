//! Opening the store's file.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use riverrun_log::Random;
use rusqlite::Connection;
use rusqlite::hooks::Wal;

use crate::checkpoint::checkpoint;
use crate::connection::{configure, connect};
use crate::examine::ExaminedFiles;
use crate::format::{APPLICATION, FORMAT};
use crate::incarnation;
use crate::marks::mark_open;
use crate::options::OpenLogError;
use crate::schema::{CREDENTIALS, DELETIONS, SHARES, TABLES, WAITING, migrate};

/// Opens the store, makes its tables if it is new, and marks a restored backup as another history. `is_tight`: the disk
/// may have no room for a longer write-ahead file.
pub fn open(
    path: &Path,
    random: Option<&dyn Random>,
    found_there: &ExaminedFiles,
    frames: &Arc<AtomicU64>,
    is_tight: bool,
    grow_wal: impl Fn() -> Result<(), OpenLogError>,
) -> Result<(Connection, u64), OpenLogError> {
    let mut connection = connect(path)?;
    let supported = FORMAT;
    let found: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let application: i64 = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let is_new =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))? == 0;
    if !is_new && application != APPLICATION {
        return Err(OpenLogError::Foreign(path.to_owned()));
    }
    if found > FORMAT {
        return Err(OpenLogError::NewerFormat { path: path.to_owned(), found, supported });
    }
    configure(&connection)?;
    let counter = Arc::clone(frames);
    connection.wal_hook(Some(move |_: &mut Wal, frames: i32| {
        counter.store(u64::try_from(frames).unwrap_or(0), Ordering::Relaxed);
        Ok(())
    }))?;
    if found_there.wal.has_remains || is_tight {
        // The file begins anew with the next commit, so that what lies behind the last one is of the past for good.
        // On a full disk it often cannot grow, so this is also what makes room for a start.
        // If the pages find no room in the store, the next start tries again.
        let _ = checkpoint(&connection);
    }
    grow_wal()?;
    if is_new {
        connection.execute_batch(&format!(
            "BEGIN; PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {FORMAT}; {TABLES}
             INSERT INTO meta VALUES ('incarnation', 0); {WAITING}; {CREDENTIALS}; {DELETIONS}; {SHARES}; COMMIT;"
        ))?;
    } else {
        migrate(&mut connection, found)?;
        let _ = connection.execute_batch(WAITING);
        let _ = connection.execute_batch(CREDENTIALS);
        let _ = connection.execute_batch(DELETIONS);
        let _ = connection.execute_batch(SHARES);
    }
    let incarnation = incarnation::renew(&mut connection, random, found_there.lost.is_some())?;
    mark_open(&connection, true)?;
    // The former owner is dead: the lock of the directory is ours. Its epoch stays as the fence.
    connection.execute("UPDATE leases SET owner = NULL, expires = NULL", [])?;
    Ok((connection, incarnation))
}
