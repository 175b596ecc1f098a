//! Credentials: further secrets of keys.

use riverrun_log::{Credential, UnixMillis};
use rusqlite::{Connection, Row, params};

use crate::failure::TransactionFault;
use crate::rows::{id_at, millis, optional_time_at, time_at};
use crate::writer_state::WriterState;

fn read(row: &Row<'_>) -> rusqlite::Result<(u64, Credential)> {
    let version: i64 = row.get(0)?;
    let credential = Credential {
        id: id_at(row, 1)?,
        key: id_at(row, 2)?,
        tenant: id_at(row, 3)?,
        hash: row.get(4)?,
        grant: row.get(5)?,
        created_at: time_at(row, 6)?,
        expires_at: time_at(row, 7)?,
        revoked_at: optional_time_at(row, 8)?,
    };
    Ok((u64::try_from(version).unwrap_or(0), credential))
}

/// Replacing gives the row a new, higher version.
pub fn put(writer: &mut WriterState, credential: &Credential) -> Result<(), TransactionFault> {
    let sql = "INSERT OR REPLACE INTO credentials
               (id, key, tenant, hash, access, created_at, expires_at, revoked_at)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    writer.connection.prepare_cached(sql)?.execute(params![
        credential.id.as_str(),
        credential.key.as_str(),
        credential.tenant.as_str(),
        &credential.hash[..],
        credential.grant,
        millis(credential.created_at),
        millis(credential.expires_at),
        credential.revoked_at.map(millis)
    ])?;
    Ok(())
}

pub fn list(connection: &Connection, after: u64) -> rusqlite::Result<Vec<(u64, Credential)>> {
    if !exists(connection)? {
        return Ok(Vec::new());
    }
    let sql = "SELECT version, id, key, tenant, hash, access, created_at, expires_at, revoked_at
               FROM credentials WHERE version > ?1 ORDER BY version";
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    connection.prepare_cached(sql)?.query_map(params![after], read)?.collect()
}

/// The version counter is kept by the table, not by its rows, so that no version comes again.
pub fn drop_expired(writer: &mut WriterState, before: UnixMillis) -> Result<u64, TransactionFault> {
    if !exists(&writer.connection)? {
        return Ok(0);
    }
    let sql = "DELETE FROM credentials WHERE expires_at < ?1";
    Ok(writer.connection.prepare_cached(sql)?.execute(params![millis(before)])? as u64)
}

/// False in a store from before credentials whose disk was full when it was opened.
fn exists(connection: &Connection) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'credentials'")?
        .query_row([], |row| row.get::<_, i64>(0))
        .map(|count| count > 0)
}
