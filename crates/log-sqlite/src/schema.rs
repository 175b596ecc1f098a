//! The tables of the store, and how an older store gets them.
//!
//! ```text
//! groups    one row per commit: the chunks of all sessions in it       ── packed ──▶ segments
//! segments  many chunks of one session, compressed                        (maintenance)
//! heads     one narrow row per session, written in every commit that moves it
//! ```
//!
//! A commit writes one row with all its chunks instead of one row and one index entry per chunk: the pages that a
//! commit dirties then grow with its bytes, not with the number of sessions in it.

use rusqlite::Connection;

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

/// All or nothing: a store is of one format or of the next.
pub fn migrate(connection: &mut Connection, found: i64) -> rusqlite::Result<()> {
    if found < 2 {
        let transaction = connection.transaction()?;
        transaction.execute_batch(TO_FORMAT_2)?;
        transaction.commit()?;
    }
    Ok(())
}
