//! Retention: a session's beginning moves forward, never back.

use std::sync::Arc;

use riverrun_event::Sequence;
use riverrun_log::{Chain, Chunk, Error, SessionKey, Ticket, Timestamp, Urgency};
use rusqlite::{Connection, params};

use crate::core::Core;
use crate::failure::Fault;
use crate::rows::{self, blob_at, time_at};
use crate::segment::{LinkColumn, link_at, number, sequence_at, unpack};
use crate::shared::Shared;
use crate::slot::State;

/// What may go.
#[derive(Clone, Copy)]
pub struct Limit {
    pub through: Sequence,
    pub older_than: Option<Timestamp>,
}

impl Limit {
    fn covers(&self, last: Sequence, newest: Timestamp) -> bool {
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

pub fn retire(
    connection: &Connection,
    shared: &Arc<Shared>,
    key: &SessionKey,
    limit: Limit,
) -> Result<Ticket<Sequence>, Fault> {
    let row = rows::head(connection, key, shared)?.ok_or_else(|| Error::NoSession(key.session.clone()))?;
    let slot = shared.slots.get(key).filter(|slot| slot.number == row.number);
    let state = slot.map_or_else(|| row.state, |slot| slot.lock().clone());
    let base = new_base(connection, row.number, &state, limit)?;
    let first_available = state.head.first_available;
    let Some(base) = base.filter(|base| base.last >= first_available) else {
        return Ok(Ticket::ready(Ok(first_available)));
    };
    let key = key.clone();
    Ok(shared.queue.submit(Urgency::Reserved, move |core| store(core, &key, row.number, base)))
}

/// The last chunk that may go, or None if none may.
fn new_base(
    connection: &Connection,
    session: i64,
    state: &State,
    limit: Limit,
) -> Result<Option<Chain>, Fault> {
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

fn store(core: &mut Core, key: &SessionKey, session: i64, base: Chain) -> Result<Sequence, Fault> {
    let slot = core.slot(key)?.filter(|slot| slot.number == session);
    let slot = slot.ok_or_else(|| Error::NoSession(key.session.clone()))?;
    let first_available = base.last.next().unwrap_or(Sequence::MAX);
    let packed = slot.lock().packed;
    let packed = if base.last > packed.last { base } else { packed };
    let sql = "UPDATE heads SET first_available = ?2, base_link = ?3, packed_last = ?4, packed_link = ?5
               WHERE session = ?1";
    core.connection.prepare_cached(sql)?.execute(params![
        session,
        number(first_available),
        LinkColumn(base.link),
        number(packed.last),
        LinkColumn(packed.link)
    ])?;
    let sql = "DELETE FROM segments WHERE session = ?1 AND last <= ?2";
    core.connection.prepare_cached(sql)?.execute(params![session, number(base.last)])?;
    core.after_commit(move || {
        let mut state = slot.lock();
        state.head.first_available = first_available;
        state.pack_through(packed);
    });
    Ok(first_available)
}
