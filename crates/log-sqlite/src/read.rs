//! Reading a session's events: first what is packed, then what is live.

use riverrun_event::Sequence;
use riverrun_log::{Chunk, LogError, SessionKey};
use rusqlite::{Connection, params};

use crate::failure::{Severity, TransactionFault, severity};
use crate::rows::{self, blob_at};
use crate::segment::{number, sequence_at, unpack};
use crate::shared::Shared;
use crate::slot::{ReadSource, SlotState};

/// The answer if memory alone has it; None if the store must be asked.
pub fn from_memory(
    shared: &Shared,
    key: &SessionKey,
    after: Sequence,
    max_bytes: usize,
) -> Option<Result<Vec<Chunk>, LogError>> {
    let slot = shared.slots.get(key)?;
    match slot.lock().find(after, max_bytes, &key.session) {
        Ok(ReadSource::Live(chunks)) => Some(Ok(chunks)),
        Ok(ReadSource::Packed) => None,
        Err(error) => Some(Err(error)),
    }
}

pub fn from_store(
    connection: &Connection,
    shared: &Shared,
    key: &SessionKey,
    after: Sequence,
    max_bytes: usize,
) -> Result<Vec<Chunk>, TransactionFault> {
    // Retention, packing and deletion may happen between looking at the head and at the segments. They only ever
    // move a session's beginning forward, so a second look settles it.
    let first = attempt(connection, shared, key, after, max_bytes);
    let second = match first {
        Err(TransactionFault::Refused(LogError::Corrupt { .. })) => {
            attempt(connection, shared, key, after, max_bytes)
        }
        other => other,
    };
    second.map_err(|fault| damaged_page(fault, shared, key, after))
}

/// Pages that SQLite cannot make sense of are damage to this session's events.
fn damaged_page(
    fault: TransactionFault,
    shared: &Shared,
    key: &SessionKey,
    after: Sequence,
) -> TransactionFault {
    match fault {
        TransactionFault::Store(error) if severity(&error) == Severity::Damaged => {
            let first = after.next().unwrap_or(Sequence::MAX);
            let last = shared.slots.get(key).map_or(first, |slot| slot.lock().packed.last.max(first));
            LogError::Corrupt { session: key.session.clone(), first, last, what: error.to_string() }.into()
        }
        TransactionFault::Store(_) | TransactionFault::Refused(_) => fault,
    }
}

fn attempt(
    connection: &Connection,
    shared: &Shared,
    key: &SessionKey,
    after: Sequence,
    max_bytes: usize,
) -> Result<Vec<Chunk>, TransactionFault> {
    let row = rows::head(connection, key, shared)?.ok_or_else(|| LogError::NoSession(key.session.clone()))?;
    let slot = shared.slots.get(key).filter(|slot| slot.number == row.number);
    let state = slot.map_or_else(|| row.state, |slot| slot.lock().clone());
    match state.find(after, max_bytes, &key.session)? {
        ReadSource::Live(chunks) => Ok(chunks),
        ReadSource::Packed => packed(connection, row.number, key, after, max_bytes, &state),
    }
}

/// Chunks of the segments behind `after`, then live ones if there is room.
fn packed(
    connection: &Connection,
    session: i64,
    key: &SessionKey,
    after: Sequence,
    max_bytes: usize,
    state: &SlotState,
) -> Result<Vec<Chunk>, TransactionFault> {
    let mut reading =
        Reading { next: after.next().unwrap_or(Sequence::MAX), bytes: 0, max_bytes, chunks: Vec::new() };
    let sql =
        "SELECT first, last, raw_bytes, bytes FROM segments WHERE session = ?1 AND last > ?2 ORDER BY last";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![session, number(after)])?;
    while let Some(row) = rows.next()? {
        let (first, last) = (sequence_at(row, 0)?, sequence_at(row, 1)?);
        let raw_bytes = row.get::<_, i64>(2)? as u64;
        // Ends before a segment that would not fit: the next read begins with it, instead of unpacking it again.
        if first > reading.next || reading.would_overflow(raw_bytes) {
            break;
        }
        let unpacked = unpack(blob_at(row, 3)?, first, last, raw_bytes);
        match unpacked {
            Ok(chunks) => {
                if reading.is_full_with(chunks) {
                    return Ok(reading.chunks);
                }
            }
            Err(what) if reading.chunks.is_empty() => {
                let first = first.max(reading.next);
                return Err(LogError::Corrupt { session: key.session.clone(), first, last, what }.into());
            }
            Err(_) => return Ok(reading.chunks),
        }
    }
    if reading.next <= state.packed.last {
        return reading.end_at_gap(key, state.packed.last);
    }
    let room = max_bytes.saturating_sub(reading.bytes);
    if let Ok(live) = state.live_after(reading.next.previous(), room, &key.session)
        && reading.bytes < max_bytes
    {
        reading.is_full_with(live);
    }
    Ok(reading.chunks)
}

struct Reading {
    next: Sequence,
    bytes: usize,
    max_bytes: usize,
    chunks: Vec<Chunk>,
}

impl Reading {
    fn would_overflow(&self, bytes: u64) -> bool {
        !self.chunks.is_empty() && self.bytes as u64 + bytes > self.max_bytes as u64
    }

    fn is_full_with(&mut self, chunks: Vec<Chunk>) -> bool {
        for chunk in chunks {
            if chunk.last() < self.next {
                continue;
            }
            self.bytes += chunk.bytes().len();
            if !self.chunks.is_empty() && self.bytes > self.max_bytes {
                return true;
            }
            self.next = chunk.last().next().unwrap_or(Sequence::MAX);
            self.chunks.push(chunk);
        }
        false
    }

    /// What was read before a missing segment, or the report of it.
    fn end_at_gap(self, key: &SessionKey, last: Sequence) -> Result<Vec<Chunk>, TransactionFault> {
        if !self.chunks.is_empty() {
            return Ok(self.chunks);
        }
        let what = "a segment is missing".to_owned();
        Err(LogError::Corrupt { session: key.session.clone(), first: self.next, last, what }.into())
    }
}
