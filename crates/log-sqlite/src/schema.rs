//! What the store holds, and how a connection to it is set up.
//!
//! ```text
//! groups    one row per commit: the chunks of all sessions in it       ── packed ──▶ segments
//! segments  many chunks of one session, compressed                        (maintenance)
//! heads     one narrow row per session, written in every commit that moves it
//! ```
//!
//! A commit writes one row with all its chunks instead of one row and one index entry per chunk: the pages that a
//! commit dirties then grow with its bytes, not with the number of sessions in it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use riverrun_log::Random;
use riverrun_log::seeded::{self, Bug};
use rusqlite::config::DbConfig;
use rusqlite::hooks::Wal;
use rusqlite::{Connection, OpenFlags, OptionalExtension, ffi, params};

use crate::OpenError;
use crate::checkpoint::checkpoint;
use crate::examine::Found;

/// The newest format this version writes and reads. A number is never reused.
pub const FORMAT: i64 = 2;

/// "RIVR": says that a SQLite file is a Riverrun log.
const APPLICATION: i64 = 0x5249_5652;

pub const TABLES: &str = "
CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE leases (
    shard INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, owner TEXT, expires INTEGER) STRICT;
CREATE TABLE sessions (
    number INTEGER PRIMARY KEY AUTOINCREMENT, tenant TEXT NOT NULL, session TEXT NOT NULL, title TEXT, agent TEXT,
    status TEXT NOT NULL, metadata TEXT, created_at INTEGER NOT NULL, UNIQUE (tenant, session)) STRICT;
CREATE INDEX sessions_by_tenant ON sessions (tenant, number);
CREATE INDEX sessions_by_status ON sessions (tenant, status, number);
CREATE TABLE tags (
    tenant TEXT NOT NULL, tag TEXT NOT NULL, session INTEGER NOT NULL,
    PRIMARY KEY (tenant, tag, session)) STRICT, WITHOUT ROWID;
CREATE INDEX tags_by_session ON tags (session);
CREATE TABLE heads (
    session INTEGER PRIMARY KEY, last INTEGER NOT NULL, link INTEGER NOT NULL, updated_at INTEGER NOT NULL,
    first_available INTEGER NOT NULL, base_link INTEGER NOT NULL,
    packed_last INTEGER NOT NULL, packed_link INTEGER NOT NULL,
    packed_bytes INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE origins (
    session INTEGER NOT NULL, through INTEGER NOT NULL, incarnation INTEGER NOT NULL,
    PRIMARY KEY (session, through)) STRICT, WITHOUT ROWID;
CREATE TABLE groups (number INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
CREATE TABLE segments (
    number INTEGER PRIMARY KEY, session INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
    link INTEGER NOT NULL, newest INTEGER NOT NULL, events INTEGER NOT NULL, raw_bytes INTEGER NOT NULL,
    bytes BLOB NOT NULL) STRICT;
CREATE UNIQUE INDEX segments_by_last ON segments (session, last);
CREATE TABLE producers (
    session INTEGER NOT NULL, producer TEXT NOT NULL, epoch INTEGER NOT NULL, sequence INTEGER NOT NULL,
    first INTEGER NOT NULL, last INTEGER NOT NULL, PRIMARY KEY (session, producer)) STRICT, WITHOUT ROWID;
CREATE TABLE actions (
    number INTEGER PRIMARY KEY AUTOINCREMENT, session INTEGER NOT NULL, tenant TEXT NOT NULL, action TEXT NOT NULL,
    turn TEXT, task TEXT, sequence INTEGER NOT NULL, body BLOB NOT NULL, opened_at INTEGER NOT NULL,
    expires_at INTEGER, resolution BLOB, resolved_at INTEGER, UNIQUE (session, action)) STRICT;
CREATE INDEX actions_pending ON actions (tenant, number) WHERE resolved_at IS NULL;
CREATE TABLE turns (
    session INTEGER NOT NULL, turn TEXT NOT NULL, tenant TEXT NOT NULL, thread TEXT NOT NULL, status TEXT NOT NULL,
    open INTEGER NOT NULL, first INTEGER NOT NULL, PRIMARY KEY (session, turn)) STRICT, WITHOUT ROWID;
CREATE INDEX turns_by_tenant ON turns (tenant, turn, session);
CREATE INDEX turns_open ON turns (session, first) WHERE open = 1;
CREATE TABLE tasks (
    session INTEGER NOT NULL, task TEXT NOT NULL, tenant TEXT NOT NULL, turn TEXT NOT NULL, parent TEXT,
    PRIMARY KEY (session, task)) STRICT, WITHOUT ROWID;
CREATE INDEX tasks_by_tenant ON tasks (tenant, task, session);
CREATE TABLE commands (
    number INTEGER PRIMARY KEY AUTOINCREMENT, session INTEGER NOT NULL, id TEXT NOT NULL,
    idempotency_key TEXT NOT NULL, digest BLOB NOT NULL, body BLOB NOT NULL, created_at INTEGER NOT NULL,
    state INTEGER NOT NULL, outcome BLOB, UNIQUE (session, id), UNIQUE (session, idempotency_key)) STRICT;
CREATE INDEX commands_pending ON commands (number) WHERE state < 2;
CREATE TABLE answers (
    tenant TEXT NOT NULL, scope TEXT NOT NULL, digest BLOB NOT NULL, response BLOB NOT NULL,
    created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, PRIMARY KEY (tenant, scope)) STRICT;
CREATE INDEX answers_by_expiry ON answers (expires_at);
CREATE TABLE blobs (
    number INTEGER PRIMARY KEY, tenant TEXT NOT NULL, digest BLOB NOT NULL, media_type TEXT NOT NULL,
    size INTEGER NOT NULL, kept INTEGER NOT NULL, bytes BLOB NOT NULL, UNIQUE (tenant, digest)) STRICT;
CREATE INDEX blobs_by_size ON blobs (tenant, size);
CREATE TABLE blob_uses (
    session INTEGER NOT NULL, blob INTEGER NOT NULL, PRIMARY KEY (session, blob)) STRICT, WITHOUT ROWID;
CREATE INDEX blob_uses_by_blob ON blob_uses (blob);
CREATE TABLE snapshots (
    session INTEGER NOT NULL, sequence INTEGER NOT NULL, hash BLOB NOT NULL, bytes BLOB NOT NULL,
    PRIMARY KEY (session, sequence)) STRICT;
CREATE TABLE sealed_turns (
    session INTEGER NOT NULL, turn TEXT NOT NULL, task TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
    hash BLOB NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (session, turn)) STRICT;
CREATE INDEX sealed_turns_by_task ON sealed_turns (session, task);
CREATE TABLE keys (
    id TEXT PRIMARY KEY, hash BLOB NOT NULL, tenant TEXT NOT NULL, scopes TEXT NOT NULL, label TEXT NOT NULL,
    created_at INTEGER NOT NULL, expires_at INTEGER, revoked_at INTEGER, last_used_at INTEGER) STRICT;
";

/// Brings a store of format 1 to format 2: what the packed events of each session take, where its event ids come from,
/// and an index that sums up blobs without reading them.
const TO_FORMAT_2: &str = "
ALTER TABLE heads ADD COLUMN packed_bytes INTEGER NOT NULL DEFAULT 0;
UPDATE heads SET packed_bytes = sums.bytes
    FROM (SELECT session, sum(raw_bytes) AS bytes FROM segments GROUP BY session) AS sums
    WHERE heads.session = sums.session;
CREATE TABLE origins (
    session INTEGER NOT NULL, through INTEGER NOT NULL, incarnation INTEGER NOT NULL,
    PRIMARY KEY (session, through)) STRICT, WITHOUT ROWID;
CREATE INDEX blobs_by_size ON blobs (tenant, size);
PRAGMA user_version = 2;
";

/// Came after stores were in use. The store does without it where it cannot be made, as on a full disk.
pub const WAITING: &str =
    "CREATE INDEX IF NOT EXISTS actions_waiting ON actions (session, turn) WHERE resolved_at IS NULL";

/// The same: a store without it has no credentials, and takes none.
pub const CREDENTIALS: &str = "CREATE TABLE IF NOT EXISTS credentials (
    version INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, key TEXT NOT NULL, tenant TEXT NOT NULL,
    hash BLOB NOT NULL, access TEXT NOT NULL, created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL,
    revoked_at INTEGER) STRICT";

/// The same: which sessions were deleted, and when. A store without it does not know.
pub const DELETIONS: &str = "CREATE TABLE IF NOT EXISTS deletions (
    number INTEGER PRIMARY KEY AUTOINCREMENT, tenant TEXT NOT NULL, session TEXT NOT NULL,
    deleted_at INTEGER NOT NULL, UNIQUE (tenant, session)) STRICT";

/// The same: a store without it has no shares, and takes none.
pub const SHARES: &str = "CREATE TABLE IF NOT EXISTS shares (
    id TEXT PRIMARY KEY, tenant TEXT NOT NULL, session TEXT NOT NULL, title TEXT NOT NULL, through INTEGER NOT NULL,
    created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, revoked_at INTEGER) STRICT;
    CREATE INDEX IF NOT EXISTS shares_of_session ON shares (tenant, session)";

/// The tables whose rows belong to a session and go with it.
pub const OF_SESSION: &[&str] = &[
    "tags",
    "heads",
    "segments",
    "producers",
    "actions",
    "turns",
    "tasks",
    "commands",
    "snapshots",
    "sealed_turns",
    "origins",
];

/// Opens the store, makes its tables if it is new, and marks a restored backup as another history. `is_tight`: the disk
/// may have no room for a longer write-ahead file.
pub fn open(
    path: &Path,
    random: Option<&dyn Random>,
    found_there: &Found,
    frames: &Arc<AtomicU64>,
    is_tight: bool,
    grow_wal: impl Fn() -> Result<(), OpenError>,
) -> Result<(Connection, u64), OpenError> {
    let mut connection = connect(path)?;
    let supported = FORMAT;
    let found: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let application: i64 = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let is_new =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))? == 0;
    if !is_new && application != APPLICATION {
        return Err(OpenError::Foreign(path.to_owned()));
    }
    if found > FORMAT {
        return Err(OpenError::NewerFormat { path: path.to_owned(), found, supported });
    }
    configure(&connection)?;
    let told = Arc::clone(frames);
    connection.wal_hook(Some(move |_: &mut Wal, frames: i32| {
        told.store(u64::try_from(frames).unwrap_or(0), Ordering::Relaxed);
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
    let incarnation = renew(&mut connection, random, found_there.lost.is_some())?;
    mark_open(&connection, true)?;
    // The former owner is dead: the lock of the directory is ours. Its epoch stays as the fence.
    connection.execute("UPDATE leases SET owner = NULL, expires = NULL", [])?;
    Ok((connection, incarnation))
}

/// All or nothing: a store is of one format or of the next.
fn migrate(connection: &mut Connection, found: i64) -> rusqlite::Result<()> {
    if found < 2 {
        let transaction = connection.transaction()?;
        transaction.execute_batch(TO_FORMAT_2)?;
        transaction.commit()?;
    }
    Ok(())
}

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

/// What the store says of itself, without its write-ahead file. Nothing if it cannot be read alone.
#[derive(Debug, Default)]
pub struct Marks {
    /// It is a backup that nobody has opened yet.
    pub is_restored: bool,
    /// It was opened and not closed.
    pub is_open: bool,
}

pub fn marks(path: &Path) -> Marks {
    let path = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let Ok(alone) = Connection::open_with_flags(format!("file:{path}?immutable=1"), flags) else {
        return Marks::default();
    };
    let get = |name| {
        let sql = "SELECT value FROM meta WHERE name = ?1";
        alone.query_row(sql, params![name], |row| row.get::<_, i64>(0)).is_ok_and(|value| value != 0)
    };
    Marks { is_restored: get("restored"), is_open: get("open") }
}

/// Writes the mark that tells an open store from a closed one, also when it is found alone; so it goes into the store
/// itself at once.
pub fn mark_open(connection: &Connection, is_open: bool) -> rusqlite::Result<()> {
    let sql = "INSERT INTO meta (name, value) VALUES ('open', ?1) ON CONFLICT DO UPDATE SET value = ?1
               WHERE value <> ?1";
    if connection.execute(sql, [i64::from(is_open)])? > 0 {
        checkpoint(connection)?;
    }
    Ok(())
}

/// What tells apart sessions that had the same name, and histories that had the same beginning.
pub fn incarnation_of(store: u64, session: i64) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&session.to_le_bytes());
    crc.update(&store.to_le_bytes());
    crc.finalize()
}

/// Notes for each session which incarnation its events got their ids in: copies of an event keep its id. What is
/// appended from now on gets ids of the next incarnation, as it does in every other copy of this history.
fn keep_origins(connection: &Connection, store: u64) -> rusqlite::Result<()> {
    let mut insert = connection
        .prepare("INSERT OR IGNORE INTO origins (session, through, incarnation) VALUES (?1, ?2, ?3)")?;
    let mut heads = connection.prepare("SELECT session, last FROM heads WHERE last > 0")?;
    let mut rows = heads.query([])?;
    while let Some(row) = rows.next()? {
        let (session, last): (i64, i64) = (row.get(0)?, row.get(1)?);
        insert.execute(params![session, last, incarnation_of(store, session)])?;
    }
    Ok(())
}

fn renew(connection: &mut Connection, random: Option<&dyn Random>, has_lost: bool) -> rusqlite::Result<u64> {
    let connection = connection.transaction()?;
    let get = |name| {
        let sql = "SELECT value FROM meta WHERE name = ?1";
        connection.query_row(sql, params![name], |row| row.get::<_, i64>(0)).optional()
    };
    let incarnation = get("incarnation")?.unwrap_or(0);
    if get("restored")?.is_none() && !has_lost {
        return Ok(incarnation as u64);
    }
    if !seeded::is_on(Bug::FreshIdsAfterRestore) {
        keep_origins(&connection, incarnation as u64)?;
    }
    let mut bytes = [0; 8];
    match random {
        Some(random) => random.fill(&mut bytes),
        None => bytes = connection.query_row("SELECT randomblob(8)", [], |row| row.get(0))?,
    }
    // Two restores of one backup must differ too, so counting on is not enough.
    let renewed = i64::from_le_bytes(bytes) | 1;
    connection.execute("UPDATE meta SET value = ?1 WHERE name = 'incarnation'", params![renewed])?;
    // Closed is how it came here; to be marked open takes the marks into the store at once.
    connection.execute("DELETE FROM meta WHERE name IN ('restored', 'open')", [])?;
    connection.commit()?;
    Ok(renewed as u64)
}
