//! Shares: links to sessions.

use riverrun_event::ShareId;
use riverrun_log::{LogError, SessionKey, ShareRecord};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::failure::TransactionFault;
use crate::rows::{id_at, millis, number, optional_time_at, time_at};
use crate::segment::sequence_at;
use crate::writer_state::WriterState;

const COLUMNS: &str = "id, tenant, session, title, through, created_at, expires_at, revoked_at";

fn read(row: &Row<'_>) -> rusqlite::Result<ShareRecord> {
    Ok(ShareRecord {
        id: id_at(row, 0)?,
        key: SessionKey::new(id_at(row, 1)?, id_at(row, 2)?),
        title: row.get(3)?,
        through: sequence_at(row, 4)?,
        created_at: time_at(row, 5)?,
        expires_at: time_at(row, 6)?,
        revoked_at: optional_time_at(row, 7)?,
    })
}

pub fn put(writer: &mut WriterState, share: &ShareRecord) -> Result<(), TransactionFault> {
    if number(&writer.connection, &share.key)?.is_none() {
        return Err(LogError::NoSession(share.key.session.clone()).into());
    }
    // Not `INSERT OR REPLACE`: it would give the row a new place in the order of the list.
    let sql = format!(
        "INSERT INTO shares ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
         ON CONFLICT (id) DO UPDATE SET tenant = ?2, session = ?3, title = ?4, through = ?5,
         created_at = ?6, expires_at = ?7, revoked_at = ?8"
    );
    writer.connection.prepare_cached(&sql)?.execute(params![
        share.id.as_str(),
        share.key.tenant.as_str(),
        share.key.session.as_str(),
        share.title,
        i64::try_from(share.through.get()).unwrap_or(i64::MAX),
        millis(share.created_at),
        millis(share.expires_at),
        share.revoked_at.map(millis)
    ])?;
    Ok(())
}

pub fn one(connection: &Connection, id: &ShareId) -> rusqlite::Result<Option<ShareRecord>> {
    if !exists(connection)? {
        return Ok(None);
    }
    let sql = format!("SELECT {COLUMNS} FROM shares WHERE id = ?1");
    connection.prepare_cached(&sql)?.query_row(params![id.as_str()], read).optional()
}

pub fn of_session(connection: &Connection, key: &SessionKey) -> rusqlite::Result<Vec<ShareRecord>> {
    if !exists(connection)? {
        return Ok(Vec::new());
    }
    let sql =
        format!("SELECT {COLUMNS} FROM shares WHERE tenant = ?1 AND session = ?2 ORDER BY created_at, rowid");
    let parameters = params![key.tenant.as_str(), key.session.as_str()];
    connection.prepare_cached(&sql)?.query_map(parameters, read)?.collect()
}

pub fn delete(connection: &Connection, key: &SessionKey) -> rusqlite::Result<()> {
    if exists(connection)? {
        let sql = "DELETE FROM shares WHERE tenant = ?1 AND session = ?2";
        let parameters = params![key.tenant.as_str(), key.session.as_str()];
        connection.prepare_cached(sql)?.execute(parameters)?;
    }
    Ok(())
}

/// False in a store from before shares whose disk was full when it was opened.
fn exists(connection: &Connection) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'shares'")?
        .query_row([], |row| row.get::<_, i64>(0))
        .map(|count| count > 0)
}
