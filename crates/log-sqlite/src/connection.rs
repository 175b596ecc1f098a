//! Connections to the store and how they are set up.

use std::path::Path;

use riverrun_log::seeded::{self, Bug};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, ffi};

/// A connection that only reads.
pub fn open_reader(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    set_patience(&connection)?;
    connection.set_prepared_statement_cache_capacity(64);
    plan_once(&connection)?;
    connection.pragma_update(None, "mmap_size", 0)?;
    connection.pragma_update(None, "cache_size", -2048)?;
    Ok(connection)
}

/// A statement keeps its plan whatever is bound to it. Otherwise many a new value has it prepared again.
fn plan_once(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(drop)
}

/// A connection that may write.
pub fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    set_patience(&connection)?;
    connection.set_prepared_statement_cache_capacity(128);
    plan_once(&connection)?;
    // Only a store that is closed in good order parts with its write-ahead file; see `Writer::close`.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    Ok(connection)
}

pub fn configure(connection: &Connection) -> rusqlite::Result<()> {
    let synchronous = if seeded::is_on(Bug::NoFsync) { "OFF" } else { "FULL" };
    connection.pragma_update(None, "page_size", 4096)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // The change is committed after it was answered, so whether it succeeded shows when the store is read again.
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))?;
    let mode: String = connection.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
    if !mode.eq_ignore_ascii_case("wal") {
        let what = format!("the store stays in journal mode `{mode}`");
        return Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_IOERR), Some(what)));
    }
    connection.pragma_update(None, "synchronous", synchronous)?;
    connection.pragma_update(None, "journal_size_limit", -1)?;
    // Checkpoints run on a thread of their own, never inside a commit.
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    connection.pragma_update(None, "mmap_size", 0)?;
    connection.pragma_update(None, "cache_size", -8192)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    Ok(())
}

/// How long a connection waits for another one that holds a lock.
pub fn set_patience(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(std::time::Duration::from_secs(5))
}

/// Bounds the store's file. The write-ahead file comes on top.
pub fn limit(connection: &Connection, max_bytes: Option<u64>) -> rusqlite::Result<()> {
    let pages =
        max_bytes.map_or(i64::from(u32::MAX - 1), |bytes| (bytes / 4096).min(u64::from(u32::MAX - 1)) as i64);
    connection
        .query_row(&format!("PRAGMA max_page_count = {pages}"), [], |row| row.get::<_, i64>(0))
        .map(drop)
}
