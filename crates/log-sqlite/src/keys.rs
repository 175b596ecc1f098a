//! API keys.

use riverrun_event::{KeyId, TenantId};
use riverrun_log::{ApiKey, LogError, UnixMillis};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::failure::TransactionFault;
use crate::rows::{id_at, millis, optional_time_at, time_at};
use crate::writer_state::WriterState;

const COLUMNS: &str =
    "SELECT id, hash, tenant, scopes, label, created_at, expires_at, revoked_at, last_used_at FROM keys";

fn read(row: &Row<'_>) -> rusqlite::Result<ApiKey> {
    let scopes: String = row.get(3)?;
    Ok(ApiKey {
        id: id_at(row, 0)?,
        hash: row.get(1)?,
        tenant: id_at(row, 2)?,
        scopes: scopes.lines().map(str::to_owned).collect(),
        label: row.get(4)?,
        created_at: time_at(row, 5)?,
        expires_at: optional_time_at(row, 6)?,
        revoked_at: optional_time_at(row, 7)?,
        last_used_at: optional_time_at(row, 8)?,
    })
}

pub fn put(writer: &mut WriterState, key: &ApiKey) -> Result<(), TransactionFault> {
    if let Some(scope) = key.scopes.iter().find(|scope| scope.is_empty() || scope.contains(['\n', '\r'])) {
        return Err(LogError::Invalid { what: format!("scope `{}`", scope.escape_debug()) }.into());
    }
    let sql = "INSERT OR REPLACE INTO keys
               (id, hash, tenant, scopes, label, created_at, expires_at, revoked_at, last_used_at)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    writer.connection.prepare_cached(sql)?.execute(params![
        key.id.as_str(),
        &key.hash[..],
        key.tenant.as_str(),
        key.scopes.join("\n"),
        key.label,
        millis(key.created_at),
        key.expires_at.map(millis),
        key.revoked_at.map(millis),
        key.last_used_at.map(millis)
    ])?;
    Ok(())
}

pub fn get(connection: &Connection, id: &KeyId) -> rusqlite::Result<Option<ApiKey>> {
    let sql = format!("{COLUMNS} WHERE id = ?1");
    connection.prepare_cached(&sql)?.query_row(params![id.as_str()], read).optional()
}

pub fn list(connection: &Connection, tenant: Option<&TenantId>) -> rusqlite::Result<Vec<ApiKey>> {
    let sql = format!("{COLUMNS} WHERE ?1 IS NULL OR tenant = ?1 ORDER BY id");
    connection.prepare_cached(&sql)?.query_map(params![tenant.map(TenantId::as_str)], read)?.collect()
}

pub fn revoke(writer: &mut WriterState, id: &KeyId, at: UnixMillis) -> Result<bool, TransactionFault> {
    let sql = "UPDATE keys SET revoked_at = coalesce(revoked_at, ?2) WHERE id = ?1";
    Ok(writer.connection.prepare_cached(sql)?.execute(params![id.as_str(), millis(at)])? == 1)
}

pub fn touch(writer: &mut WriterState, id: &KeyId, at: UnixMillis) -> Result<(), TransactionFault> {
    let sql = "UPDATE keys SET last_used_at = ?2 WHERE id = ?1";
    writer.connection.prepare_cached(sql)?.execute(params![id.as_str(), millis(at)])?;
    Ok(())
}
