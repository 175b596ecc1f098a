//! Retention: a session's beginning moves forward, never back.

use riverrun_event::Sequence;
use riverrun_log::seeded::{self, Bug};
use riverrun_log::{Chain, Chunk, LogError, LogTicket, SessionKey, UnixMillis, Urgency, UsageChange};
use rusqlite::{Connection, params};

use crate::engine::Engine;
use crate::failure::TransactionFault;
use crate::rows::{self, blob_at, time_at};
use crate::segment::{LinkColumn, link_at, number, sequence_at, unpack};
use crate::slot::SlotState;
use crate::writer_state::WriterState;

/// What may go.
#[derive(Clone, Copy)]
pub struct Limit {
    pub through: Sequence,
    pub older_than: Option<UnixMillis>,
}

impl Limit {
    fn covers(&self, last: Sequence, newest: UnixMillis) -> bool {
        last <= self.through && self.older_than.is_none_or(|time| newest < time)
    }

    /// Moves `base` over the chunks at the front that may go. True if all of them may.
    fn walk<'a>(&self, base: &mut Chain, mut chunks: impl Iterator<Item = &'a Chunk>) -> bool {
        chunks.all(|chunk| {
            let gone = self.covers(chunk.last(), chunk.time());
            if gone && chunk.last() > base.last {
                *base = Chain { last: chunk.last(), link: chunk.link() };
            }
            gone
        })
    }
}

/// True if nothing is open in the session.
fn is_finished(connection: &Connection, session: i64) -> rusqlite::Result<bool> {
    let sql = "SELECT NOT EXISTS (SELECT 1 FROM turns INDEXED BY turns_open WHERE session = ?1 AND open = 1)
        AND NOT EXISTS (SELECT 1 FROM actions WHERE session = ?1 AND resolved_at IS NULL)
        AND NOT EXISTS (SELECT 1 FROM commands WHERE session = ?1 AND state < 2)";
    let is_finished = connection.prepare_cached(sql)?.query_row(params![session], |row| row.get(0))?;
    Ok(is_finished || seeded::is_on(Bug::RetireOpenTurns))
}

pub fn retire(
    connection: &Connection,
    engine: &Engine,
    key: &SessionKey,
    limit: Limit,
) -> Result<LogTicket<Sequence>, TransactionFault> {
    let row = rows::head(connection, key, engine)?.ok_or_else(|| LogError::NoSession(key.session.clone()))?;
    let slot = engine.slots.get(key).filter(|slot| slot.number == row.number);
    let state = slot.map_or_else(|| row.state, |slot| slot.lock().clone());
    let first_available = state.head.first_available;
    if !is_finished(connection, row.number)? {
        return Ok(LogTicket::ready(Ok(first_available)));
    }
    let base = new_base(connection, row.number, &state, limit)?;
    let Some(base) = base.filter(|base| base.last >= first_available) else {
        return Ok(LogTicket::ready(Ok(first_available)));
    };
    let key = key.clone();
    Ok(engine.queue.submit(Urgency::Reserved, move |writer| store(writer, &key, row.number, base)))
}

/// The last chunk that may go, or None if none may.
fn new_base(
    connection: &Connection,
    session: i64,
    state: &SlotState,
    limit: Limit,
) -> Result<Option<Chain>, TransactionFault> {
    let mut base = Chain { last: Sequence::ZERO, link: Default::default() };
    let sql =
        "SELECT first, last, link, newest, raw_bytes, bytes FROM segments WHERE session = ?1 ORDER BY last";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![session])?;
    let mut all = true;
    while all && let Some(row) = rows.next()? {
        let last = sequence_at(row, 1)?;
        if limit.covers(last, time_at(row, 3)?) {
            base = Chain { last, link: link_at(row, 2)? };
            continue;
        }
        let raw_bytes = row.get::<_, i64>(4)? as u64;
        // A damaged segment stays whole, to be reported.
        let chunks = unpack(blob_at(row, 5)?, sequence_at(row, 0)?, last, raw_bytes).unwrap_or_default();
        limit.walk(&mut base, chunks.iter());
        all = false;
    }
    if all {
        limit.walk(&mut base, state.live.iter().map(|live| &live.chunk));
    }
    Ok((base.last > Sequence::ZERO).then_some(base))
}

fn store(
    writer: &mut WriterState,
    key: &SessionKey,
    session: i64,
    base: Chain,
) -> Result<Sequence, TransactionFault> {
    let slot = writer.slot(key)?.filter(|slot| slot.number == session);
    let slot = slot.ok_or_else(|| LogError::NoSession(key.session.clone()))?;
    // Something may have been opened since the chunks were chosen.
    if !is_finished(&writer.connection, session)? {
        return Ok(slot.lock().head.first_available);
    }
    let first_available = base.last.next().unwrap_or(Sequence::MAX);
    let (packed, live) = {
        let state = slot.lock();
        let retired = state.live.iter().take_while(|live| live.chunk.last() <= base.last);
        (state.packed, retired.map(|live| live.chunk.bytes().len() as i64).sum::<i64>())
    };
    let packed = if base.last > packed.last { base } else { packed };
    let sql = "SELECT coalesce(sum(raw_bytes), 0) FROM segments WHERE session = ?1 AND last <= ?2";
    let parameters = params![session, number(base.last)];
    let packed_bytes: i64 = writer.connection.prepare_cached(sql)?.query_row(parameters, |row| row.get(0))?;
    let sql = "UPDATE heads SET first_available = ?2, base_link = ?3, packed_last = ?4, packed_link = ?5,
               packed_bytes = packed_bytes - ?6 WHERE session = ?1";
    writer.connection.prepare_cached(sql)?.execute(params![
        session,
        number(first_available),
        LinkColumn(base.link),
        number(packed.last),
        LinkColumn(packed.link),
        packed_bytes
    ])?;
    let sql = "DELETE FROM segments WHERE session = ?1 AND last <= ?2";
    writer.connection.prepare_cached(sql)?.execute(params![session, number(base.last)])?;
    let log_bytes = -(packed_bytes + live);
    writer.change_usage(&key.tenant, UsageChange { log_bytes, ..UsageChange::default() });
    writer.after_commit(move || {
        let mut state = slot.lock();
        state.head.first_available = first_available;
        state.pack_through(packed);
    });
    Ok(first_available)
}
