//! Which sessions were deleted, and when: one small row each, so that a reader is told from one who asks for what never
//! was.

use riverrun_log::{MOST_DELETIONS, SessionKey, UnixMillis};
use rusqlite::{Connection, OptionalExtension, params};

use crate::failure::TransactionFault;
use crate::rows::{millis, time_at};
use crate::writer_state::WriterState;

/// Rows that one commit drops.
const AT_ONCE: i64 = 4096;

pub fn find(connection: &Connection, key: &SessionKey) -> rusqlite::Result<Option<UnixMillis>> {
    if !exists(connection)? {
        return Ok(None);
    }
    let sql = "SELECT deleted_at FROM deletions WHERE tenant = ?1 AND session = ?2";
    let names = params![key.tenant.as_str(), key.session.as_str()];
    connection.prepare_cached(sql)?.query_row(names, |row| time_at(row, 0)).optional()
}

pub fn note(writer: &mut WriterState, key: &SessionKey, at: UnixMillis) -> Result<(), TransactionFault> {
    if !exists(&writer.connection)? {
        return Ok(());
    }
    let sql = "INSERT OR REPLACE INTO deletions (tenant, session, deleted_at) VALUES (?1, ?2, ?3)";
    let row = params![key.tenant.as_str(), key.session.as_str(), millis(at)];
    writer.connection.prepare_cached(sql)?.execute(row)?;
    Ok(())
}

/// A session of this name is made again.
pub fn forget(writer: &WriterState, key: &SessionKey) -> Result<(), TransactionFault> {
    if !exists(&writer.connection)? {
        return Ok(());
    }
    let sql = "DELETE FROM deletions WHERE tenant = ?1 AND session = ?2";
    writer.connection.prepare_cached(sql)?.execute(params![key.tenant.as_str(), key.session.as_str()])?;
    Ok(())
}

/// Looks at the oldest rows only, so that no commit is held up by many of them.
pub fn drop_old(writer: &mut WriterState, before: UnixMillis) -> Result<u64, TransactionFault> {
    if !exists(&writer.connection)? {
        return Ok(0);
    }
    let sql = "DELETE FROM deletions
               WHERE number IN (SELECT number FROM deletions ORDER BY number LIMIT ?1)
               AND (deleted_at < ?2 OR number <= (SELECT max(number) FROM deletions) - ?3)";
    let limits = params![AT_ONCE, millis(before), i64::try_from(MOST_DELETIONS).unwrap_or(i64::MAX)];
    Ok(writer.connection.prepare_cached(sql)?.execute(limits)? as u64)
}

/// False in a store from before deletions were noted whose disk was full when it was opened.
fn exists(connection: &Connection) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'deletions'")?
        .query_row([], |row| row.get::<_, i64>(0))
        .map(|count| count > 0)
}
