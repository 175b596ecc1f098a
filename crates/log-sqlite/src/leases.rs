//! The lease of the one shard.

use std::time::Duration;

use riverrun_event::OwnerId;
use riverrun_log::{Epoch, Lease, LogError, Shard, ShardState, UnixMillis, WorkScope};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::failure::TransactionFault;
use crate::rows::{id_at, millis, optional_id_at, optional_time_at, time_at};
use crate::writer_state::WriterState;

/// The embedded engine is not divided: one process owns all sessions.
pub const SHARDS: u16 = 1;
const SHARD: Shard = Shard(0);

/// False if no session can be in the scope.
pub fn is_ours(scope: &WorkScope) -> bool {
    !matches!(scope, WorkScope::Shard(shard) if *shard != SHARD)
}

pub fn list(connection: &Connection, now: UnixMillis) -> rusqlite::Result<Vec<ShardState>> {
    let sql = "SELECT epoch, owner, expires FROM leases WHERE shard = ?1";
    let read = |row: &Row<'_>| {
        let epoch = Epoch(row.get::<_, i64>(0)? as u64);
        let held = optional_id_at(row, 1)?.zip(optional_time_at(row, 2)?);
        let running = held.filter(|(_, expires)| *expires > now);
        let lease = running.map(|(owner, expires)| Lease { shard: SHARD, epoch, owner, expires });
        Ok(ShardState { shard: SHARD, epoch, lease })
    };
    let known = connection.prepare_cached(sql)?.query_row(params![SHARD.0], read).optional()?;
    let never = ShardState { shard: SHARD, epoch: Epoch::default(), lease: None };
    Ok(vec![known.unwrap_or(never)])
}

fn held(connection: &Connection, shard: Shard) -> rusqlite::Result<Option<(OwnerId, UnixMillis)>> {
    let sql = "SELECT owner, expires FROM leases WHERE shard = ?1 AND owner IS NOT NULL";
    let read = |row: &Row<'_>| Ok((id_at(row, 0)?, time_at(row, 1)?));
    connection.prepare_cached(sql)?.query_row(params![shard.0], read).optional()
}

pub fn acquire(
    writer: &mut WriterState,
    shard: Shard,
    owner: &OwnerId,
    ttl: Duration,
) -> Result<Lease, TransactionFault> {
    if shard != SHARD {
        return Err(LogError::NotFound { kind: "shard", id: shard.0.to_string() }.into());
    }
    let now = writer.shared.options.clock.now();
    if let Some((owner, expires)) =
        held(&writer.connection, shard)?.filter(|(held_by, expires)| held_by != owner && *expires > now)
    {
        return Err(LogError::LeaseHeld { owner, expires }.into());
    }
    let epoch = Epoch(writer.epoch.0 + 1);
    let expires = now.plus(ttl);
    let sql = "INSERT OR REPLACE INTO leases (shard, epoch, owner, expires) VALUES (?1, ?2, ?3, ?4)";
    writer.connection.prepare_cached(sql)?.execute(params![
        shard.0,
        epoch.0 as i64,
        owner.as_str(),
        millis(expires)
    ])?;
    writer.epoch = epoch;
    Ok(Lease { shard, epoch, owner: owner.clone(), expires })
}

pub fn renew(writer: &mut WriterState, lease: &Lease, ttl: Duration) -> Result<Lease, TransactionFault> {
    if lease.epoch != writer.epoch {
        return Err(LogError::Fenced { used: lease.epoch, current: writer.epoch }.into());
    }
    let expires = writer.shared.options.clock.now().plus(ttl);
    let sql = "UPDATE leases SET owner = ?2, expires = ?3 WHERE shard = ?1";
    writer.connection.prepare_cached(sql)?.execute(params![
        lease.shard.0,
        lease.owner.as_str(),
        millis(expires)
    ])?;
    Ok(Lease { expires, ..lease.clone() })
}

pub fn release(writer: &mut WriterState, lease: &Lease) -> Result<(), TransactionFault> {
    if lease.epoch == writer.epoch {
        let sql = "UPDATE leases SET owner = NULL, expires = NULL WHERE shard = ?1";
        writer.connection.prepare_cached(sql)?.execute(params![lease.shard.0])?;
    }
    Ok(())
}
