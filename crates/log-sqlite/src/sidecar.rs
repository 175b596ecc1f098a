//! Blobs, snapshots, sealed turns: bytes beside the log, each guarded by a hash.

use bytes::Bytes;
use riverrun_event::{Sequence, TenantId};
use riverrun_log::seeded::{self, Bug};
use riverrun_log::{
    BlobContent, BlobId, BlobInfo, LogError, NewBlob, SealedTurnRecord, SessionKey, Snapshot, SnapshotFound,
    Urgency, UsageChange,
};
use rusqlite::{Connection, OptionalExtension, Row, params};
use sha2::{Digest, Sha256};

use crate::failure::TransactionFault;
use crate::rows::{self, blob_at, bound, bytes_at, id_at};
use crate::segment::sequence_at;
use crate::writer_state::WriterState;

/// Snapshots of a session that are kept.
const SNAPSHOTS: i64 = 4;
/// Bounds what a damaged length can make a reader allocate.
const MAX_BYTES: usize = 1 << 30;
const LEVEL: i32 = 3;

pub fn hash(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// The packed form begins with the length of what it unpacks to.
pub fn pack(bytes: &[u8]) -> Result<Vec<u8>, LogError> {
    let packed =
        zstd::bulk::compress(bytes, LEVEL).map_err(|error| LogError::Invalid { what: error.to_string() })?;
    let mut out = (bytes.len() as u64).to_le_bytes().to_vec();
    out.extend(packed);
    Ok(out)
}

pub fn unpack(packed: &[u8]) -> Option<Bytes> {
    let (length, packed) = packed.split_first_chunk::<8>()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok().filter(|length| *length <= MAX_BYTES)?;
    zstd::bulk::decompress(packed, length).ok().map(Bytes::from)
}

pub fn put_blob(
    writer: &mut WriterState,
    tenant: &TenantId,
    blob: &NewBlob,
    reference: &BlobId,
) -> Result<BlobInfo, TransactionFault> {
    let session = match &blob.session {
        Some(session) => Some(writer.session(&SessionKey::new(tenant.clone(), session.clone()))?),
        None => None,
    };
    if blob_info(&writer.connection, tenant, reference)?.is_none() {
        writer.admit_bytes(tenant, blob.bytes.len(), Urgency::Normal)?;
        let blob_bytes = blob.bytes.len() as i64;
        writer.change_usage(tenant, UsageChange { blob_bytes, ..UsageChange::default() });
    }
    let connection = &writer.connection;
    let sql =
        "INSERT INTO blobs (tenant, digest, media_type, size, kept, bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
               ON CONFLICT DO UPDATE SET kept = max(kept, ?5)";
    let digest = &reference.digest()[..];
    connection.prepare_cached(sql)?.execute(params![
        tenant.as_str(),
        digest,
        blob.media_type,
        blob.bytes.len() as i64,
        session.is_none(),
        &blob.bytes[..]
    ])?;
    if let Some(session) = session {
        let sql = "INSERT OR IGNORE INTO blob_uses (session, blob)
                   SELECT ?1, number FROM blobs WHERE tenant = ?2 AND digest = ?3";
        connection.prepare_cached(sql)?.execute(params![session, tenant.as_str(), digest])?;
    }
    let info = blob_info(connection, tenant, reference)?;
    info.ok_or_else(|| LogError::NotFound { kind: "blob", id: reference.to_string() }.into())
}

pub fn blob_info(
    connection: &Connection,
    tenant: &TenantId,
    reference: &BlobId,
) -> rusqlite::Result<Option<BlobInfo>> {
    let sql = "SELECT media_type, size FROM blobs WHERE tenant = ?1 AND digest = ?2";
    let read = |row: &Row<'_>| {
        let size = row.get::<_, i64>(1)? as u64;
        Ok(BlobInfo { reference: reference.clone(), media_type: row.get(0)?, size })
    };
    let parameters = params![tenant.as_str(), &reference.digest()[..]];
    connection.prepare_cached(sql)?.query_row(parameters, read).optional()
}

pub fn blob(
    connection: &Connection,
    tenant: &TenantId,
    reference: &BlobId,
) -> Result<Option<BlobContent>, TransactionFault> {
    let Some(info) = blob_info(connection, tenant, reference)? else { return Ok(None) };
    let sql = "SELECT bytes FROM blobs WHERE tenant = ?1 AND digest = ?2";
    let parameters = params![tenant.as_str(), &reference.digest()[..]];
    let bytes = connection.prepare_cached(sql)?.query_row(parameters, |row| bytes_at(row, 0))?;
    if BlobId::of(&bytes) != *reference {
        return Err(LogError::Invalid { what: format!("contents of blob `{reference}`") }.into());
    }
    Ok(Some(BlobContent { info, bytes }))
}

pub fn put_snapshot(
    writer: &mut WriterState,
    key: &SessionKey,
    sequence: Sequence,
    hash: [u8; 32],
    packed: &[u8],
) -> Result<(), TransactionFault> {
    let session = writer.session(key)?;
    let sql = "INSERT OR REPLACE INTO snapshots (session, sequence, hash, bytes) VALUES (?1, ?2, ?3, ?4)";
    writer.connection.prepare_cached(sql)?.execute(params![session, bound(sequence), &hash[..], packed])?;
    let sql = "DELETE FROM snapshots WHERE session = ?1 AND sequence <=
               (SELECT sequence FROM snapshots WHERE session = ?1 ORDER BY sequence DESC LIMIT 1 OFFSET ?2)";
    writer.connection.prepare_cached(sql)?.execute(params![session, SNAPSHOTS])?;
    Ok(())
}

pub fn snapshot(
    connection: &Connection,
    key: &SessionKey,
    at: Sequence,
) -> Result<SnapshotFound, TransactionFault> {
    let session = rows::number(connection, key)?.ok_or_else(|| LogError::NoSession(key.session.clone()))?;
    let sql = "SELECT sequence, hash, bytes FROM snapshots WHERE session = ?1 AND sequence <= ?2 ORDER BY sequence DESC";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![session, bound(at)])?;
    let mut found = SnapshotFound::default();
    while let Some(row) = rows.next()? {
        match sound_snapshot(row) {
            Ok(snapshot) => {
                found.snapshot = Some(snapshot);
                break;
            }
            Err(problem) => found.problems.push(problem),
        }
    }
    Ok(found)
}

/// A snapshot that fits its hash, or what is wrong with it.
pub fn sound_snapshot(row: &Row<'_>) -> Result<Snapshot, String> {
    let sequence = sequence_at(row, 0).map_err(|error| error.to_string())?;
    let damaged = || format!("the snapshot at {sequence} is damaged");
    let stored: [u8; 32] = row.get(1).map_err(|_| damaged())?;
    let packed = row.get_ref(2).ok().and_then(|value| value.as_blob().ok()).ok_or_else(damaged)?;
    let bytes = unpack(packed).ok_or_else(damaged)?;
    if hash(&bytes) != stored && !seeded::is_on(Bug::TrustSnapshot) {
        return Err(damaged());
    }
    Ok(Snapshot { sequence, bytes })
}

pub fn put_sealed_turn(
    writer: &mut WriterState,
    key: &SessionKey,
    turn: &SealedTurnRecord,
    packed: &[u8],
) -> Result<(), TransactionFault> {
    let session = writer.session(key)?;
    if let Some(stored) = sealed_turn(&writer.connection, key, "turn", turn.turn.as_str())? {
        if stored.first == turn.first && stored != *turn {
            return Err(LogError::Immutable { kind: "sealed turn", id: turn.turn.to_string() }.into());
        }
        if stored.first >= turn.first {
            return Ok(());
        }
    }
    let sql = "INSERT OR REPLACE INTO sealed_turns (session, turn, task, first, last, hash, bytes)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    writer.connection.prepare_cached(sql)?.execute(params![
        session,
        turn.turn.as_str(),
        turn.task.as_str(),
        bound(turn.first),
        bound(turn.last),
        &hash(&turn.bytes)[..],
        packed
    ])?;
    Ok(())
}

/// `column` is `turn` or `task`. A damaged one counts as absent: it can be made again from the log.
pub fn sealed_turn(
    connection: &Connection,
    key: &SessionKey,
    column: &'static str,
    id: &str,
) -> Result<Option<SealedTurnRecord>, TransactionFault> {
    let session = rows::number(connection, key)?.ok_or_else(|| LogError::NoSession(key.session.clone()))?;
    let sql = format!(
        "SELECT turn, task, first, last, hash, bytes FROM sealed_turns WHERE session = ?1 AND {column} = ?2 LIMIT 1"
    );
    let found = connection.prepare_cached(&sql)?.query_row(params![session, id], read_sealed).optional()?;
    Ok(found.flatten())
}

/// None for a damaged one.
fn read_sealed(row: &Row<'_>) -> rusqlite::Result<Option<SealedTurnRecord>> {
    let stored: [u8; 32] = row.get(4)?;
    let bytes = unpack(blob_at(row, 5)?).filter(|bytes| hash(bytes) == stored);
    let Some(bytes) = bytes else { return Ok(None) };
    let (first, last) = (sequence_at(row, 2)?, sequence_at(row, 3)?);
    Ok(Some(SealedTurnRecord { turn: id_at(row, 0)?, task: id_at(row, 1)?, first, last, bytes }))
}

pub fn sealed_turns(
    connection: &Connection,
    key: &SessionKey,
    through: Sequence,
    most: usize,
    max_bytes: usize,
) -> Result<Vec<SealedTurnRecord>, TransactionFault> {
    let session = rows::number(connection, key)?.ok_or_else(|| LogError::NoSession(key.session.clone()))?;
    // Sorted by their places alone, so that no turn is read which is not answered.
    let sql = "SELECT turn, task, first, last, hash, bytes FROM sealed_turns WHERE rowid IN (
                   SELECT rowid FROM sealed_turns WHERE session = ?1 AND last <= ?2 ORDER BY first DESC LIMIT ?3)
               ORDER BY first DESC";
    let mut statement = connection.prepare_cached(sql)?;
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let mut rows = statement.query(params![session, bound(through), most])?;
    let (mut found, mut bytes) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        let Some(turn) = read_sealed(row)? else { continue };
        bytes += turn.bytes.len();
        if bytes > max_bytes && !found.is_empty() {
            break;
        }
        found.push(turn);
    }
    found.reverse();
    Ok(found)
}
