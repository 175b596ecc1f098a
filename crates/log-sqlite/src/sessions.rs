//! The life of sessions: changes that run in the writer.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use riverrun_event::Sequence;
use riverrun_log::seeded::{self, Bug};
use riverrun_log::{
    Created, Link, LogHealth, SessionHead, SessionKey, SessionRecord, SessionSpec, UsageChange,
};
use rusqlite::{OptionalExtension, params};

use crate::failure::TransactionFault;
use crate::rows::millis;
use crate::segment::{LinkColumn, number};
use crate::writer_state::WriterState;
use crate::{catalogue, deletions, facts, schema, shares};

pub fn create(
    writer: &mut WriterState,
    key: &SessionKey,
    new: SessionSpec,
) -> Result<Created, TransactionFault> {
    if let Some(record) = catalogue::session(&writer.connection, &writer.shared, key)? {
        return Ok(Created { record, new: false });
    }
    writer.admit_session(&key.tenant)?;
    deletions::forget(writer, key)?;
    let sql = "INSERT INTO sessions (tenant, session, title, agent, status, metadata, created_at)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let created_at = new.created_at;
    writer.connection.prepare_cached(sql)?.execute(params![
        key.tenant.as_str(),
        key.session.as_str(),
        new.title,
        new.agent,
        new.status,
        new.metadata,
        millis(created_at)
    ])?;
    let session = writer.connection.last_insert_rowid();
    let first_available = new.start_after.next().unwrap_or(Sequence::MAX);
    let sql = "INSERT INTO heads (session, last, link, updated_at, first_available, base_link, packed_last, packed_link)
               VALUES (?1, ?2, ?3, ?4, ?5, ?3, ?2, ?3)";
    writer.connection.prepare_cached(sql)?.execute(params![
        session,
        number(new.start_after),
        LinkColumn(Link::START),
        millis(created_at),
        number(first_available)
    ])?;
    facts::store_tags(&writer.connection, session, key, &new.tags)?;
    writer.change_usage(&key.tenant, UsageChange { sessions: 1, ..UsageChange::default() });
    let incarnation = writer.shared.incarnation_of(session);
    let head = SessionHead { last: new.start_after, link: Link::START, first_available, incarnation };
    let SessionSpec { title, agent, status, mut tags, metadata, .. } = new;
    tags.sort();
    tags.dedup();
    let key = key.clone();
    let record =
        SessionRecord { key, title, agent, status, tags, metadata, created_at, updated_at: created_at, head };
    Ok(Created { record, new: true })
}

/// Removes a session with all that is its own, and the blobs that only it used.
/// Its live chunks stay in their groups, owned by nobody, until these are packed.
pub fn delete(writer: &mut WriterState, key: &SessionKey) -> Result<bool, TransactionFault> {
    let Some(slot) = writer.slot(key)? else { return Ok(false) };
    let connection = &writer.connection;
    let sql = "SELECT packed_bytes FROM heads WHERE session = ?1";
    let packed: i64 = connection.prepare_cached(sql)?.query_row(params![slot.number], |row| row.get(0))?;
    let log_bytes = packed + slot.lock().live_bytes() + writer.staged_bytes(slot.number);
    let mut change = UsageChange { sessions: -1, log_bytes: -log_bytes, blob_bytes: 0 };
    let used = "SELECT blob FROM blob_uses WHERE session = ?1";
    let blobs: Vec<i64> = connection
        .prepare_cached(used)?
        .query_map(params![slot.number], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    connection.prepare_cached("DELETE FROM blob_uses WHERE session = ?1")?.execute(params![slot.number])?;
    let sql = "DELETE FROM blobs WHERE number = ?1 AND kept = 0
               AND NOT EXISTS (SELECT 1 FROM blob_uses WHERE blob = ?1) RETURNING size";
    for blob in blobs {
        let deleted = connection.prepare_cached(sql)?.query_row(params![blob], |row| row.get::<_, i64>(0));
        change.blob_bytes -= deleted.optional()?.unwrap_or(0);
    }
    for table in schema::OF_SESSION {
        connection
            .prepare_cached(&format!("DELETE FROM {table} WHERE session = ?1"))?
            .execute(params![slot.number])?;
    }
    shares::delete(connection, key)?;
    connection.prepare_cached("DELETE FROM sessions WHERE number = ?1")?.execute(params![slot.number])?;
    writer.forget(key);
    if !seeded::is_on(Bug::QuotaKeepsDeleted) {
        writer.change_usage(&key.tenant, change);
    }
    let shared = Arc::clone(&writer.shared);
    writer.after_commit(move || {
        shared.slots.remove(&slot);
        if !slot.lock().live.is_empty() {
            shared.erase.store(true, Ordering::Relaxed);
            if shared.health() == LogHealth::Full {
                shared.pack.raise();
            }
        }
    });
    Ok(true)
}
