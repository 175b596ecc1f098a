//! Opening: what the groups hold that is not packed comes back into memory.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use riverrun_log::{Chain, Chunk, SessionHead};
use rusqlite::{Connection, Row};

use crate::group;
use crate::rows::{blob_at, key_at, time_at};
use crate::segment::{link_at, sequence_at};
use crate::shared::Shared;
use crate::slot::{Live, SessionSlot, SlotState};

/// Loads every session that has live chunks. Answers the number of the last group.
///
/// A damaged chunk leaves a hole: its session reports it when read and takes no more appends, the others go on.
pub fn load(connection: &Connection, shared: &Shared) -> rusqlite::Result<i64> {
    let mut sessions = open_sessions(connection, shared)?;
    let known: HashSet<i64> = sessions.keys().copied().collect();
    let mut last = 0;
    let mut statement = connection.prepare("SELECT number, bytes FROM groups ORDER BY number")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        last = row.get(0)?;
        let bytes = Bytes::copy_from_slice(blob_at(row, 1)?);
        shared.add_group(last, bytes.len());
        for (session, part) in group::decode(&bytes).unwrap_or_default() {
            if known.contains(&(session as i64))
                && let Some(slot) = sessions.get_mut(&(session as i64))
            {
                // A copy of its own: a small chunk must not keep its whole group in memory.
                add(slot, Bytes::copy_from_slice(&part), last);
            }
        }
    }
    for (_, slot) in sessions {
        let damage = slot.lock().damage(&slot.key.session);
        slot.lock().is_damaged = damage.is_some();
        shared.slots.insert(Arc::new(slot));
    }
    Ok(last)
}

/// The sessions whose head is behind their packed part.
fn open_sessions(connection: &Connection, shared: &Shared) -> rusqlite::Result<HashMap<i64, SessionSlot>> {
    let sql = "SELECT h.session, s.tenant, s.session, h.last, h.link, h.updated_at, h.first_available, h.packed_last,
               h.packed_link FROM heads h JOIN sessions s ON s.number = h.session WHERE h.last <> h.packed_last";
    let read = |row: &Row<'_>| {
        let number: i64 = row.get(0)?;
        let head = SessionHead {
            last: sequence_at(row, 3)?,
            link: link_at(row, 4)?,
            first_available: sequence_at(row, 6)?,
            incarnation: shared.incarnation_of(number),
        };
        let packed = Chain { last: sequence_at(row, 7)?, link: link_at(row, 8)? };
        let state = SlotState {
            head,
            updated_at: time_at(row, 5)?,
            packed,
            live: VecDeque::new(),
            is_damaged: false,
        };
        Ok((number, SessionSlot::new(number, key_at(row, 1)?, state)))
    };
    connection.prepare(sql)?.query_map([], read)?.collect()
}

/// Takes a chunk if it is sound, not packed yet, and follows what was taken before or leaves a hole.
fn add(slot: &mut SessionSlot, part: Bytes, group: i64) {
    let Ok(chunk) = Chunk::decode(part) else { return };
    let mut state = slot.lock();
    if chunk.first() <= state.packed.last || chunk.last() > state.head.last {
        return;
    }
    let before = state
        .live
        .back()
        .map_or(state.packed, |live| Chain { last: live.chunk.last(), link: live.chunk.link() });
    let follows_directly = before.last.next() == Some(chunk.first());
    let fits = follows_directly && chunk.previous() == before.link;
    if fits || (!follows_directly && chunk.first() > before.last) {
        state.live.push_back(Live { chunk, group });
    }
}
