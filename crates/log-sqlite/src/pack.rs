//! Packing: live chunks move from the groups of many sessions into the segments of each.
//!
//! Compressing happens on a thread of its own; the writer only inserts finished rows, a few sessions at a time, so
//! that commits hardly notice.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use riverrun_event::Sequence;
use riverrun_log::seeded::{self, Bug};
use riverrun_log::{Chain, Chunk, LogError, LogTicket, Sealed, SessionKey, Urgency, UsageChange};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::engine::Engine;
use crate::failure::TransactionFault;
use crate::rows::{self, blob_at};
use crate::segment::{self, LinkColumn, SMALL_BYTES, Segment, number, sequence_at};
use crate::signal::lock;
use crate::slot::{SessionSlot, SlotState};
use crate::writer_state::WriterState;

const PERIOD: Duration = Duration::from_secs(5);
/// Sessions whose segments are inserted in one commit.
const BATCH: usize = 32;
/// Bytes of groups that are deleted in one commit.
const DELETE_BYTES: usize = 2 << 20;
/// Smaller pieces of one session would be packed again and again.
const SMALLEST_PIECE: u64 = 1 << 20;

pub fn run(engine: &Engine, connection: &Connection) {
    while engine.pack.wait(PERIOD) {
        let mut asked = false;
        loop {
            let requests: Vec<_> = {
                let mut waiting = lock(&engine.requests);
                let count = waiting.len().min(BATCH);
                waiting.drain(..count).collect()
            };
            if requests.is_empty() {
                break;
            }
            let answers: Vec<_> = requests.into_iter().map(|request| request(connection)).collect();
            answers.into_iter().for_each(|answer| answer());
            asked = true;
        }
        if engine.failure().is_some() {
            continue;
        }
        let erase = engine.erase.swap(false, Ordering::Relaxed).then(|| engine.newest_group()).flatten();
        // What could not be packed or deleted now is tried again.
        let _ = match erase.or_else(|| engine.excess()) {
            Some(through) => pack_groups(connection, engine, through),
            None if asked => trim(engine),
            None => Ok(()),
        };
    }
}

/// Packs every live chunk of the groups up to `through` and deletes these groups.
fn pack_groups(connection: &Connection, engine: &Engine, through: i64) -> Result<(), LogError> {
    for batch in engine.slots.all().chunks(BATCH) {
        let mut tickets = Vec::new();
        for slot in batch {
            let wanted = |_: &Chunk, group: i64| group <= through;
            tickets.extend(pack_slot(connection, engine, slot, wanted)?);
        }
        for ticket in tickets {
            ticket.wait()?;
        }
    }
    trim(engine)?;
    // A group that is still needed is kept on disk only: it must not keep the packing thread busy.
    engine.drop_groups(through);
    Ok(())
}

/// Deletes the oldest groups, up to the first that holds a live chunk.
fn trim(engine: &Engine) -> Result<(), LogError> {
    // Asked before the slots: the chunks of this group and all before it are in their slots already.
    let Some(newest) = engine.newest_group() else { return Ok(()) };
    let needed = |slot: Arc<SessionSlot>| {
        let state = slot.lock();
        // A damaged session keeps all groups: they hold what is left of it.
        if state.is_damaged { Some(0) } else { state.live.front().map(|live| live.group) }
    };
    let oldest_needed = engine.slots.all().into_iter().filter_map(needed).min();
    let through = oldest_needed.map_or(newest, |group| newest.min(group - 1));
    if through > 0 && engine.has_group_up_to(through) {
        delete_groups(engine, through)?;
        engine.drop_groups(through);
    }
    Ok(())
}

fn delete_groups(engine: &Engine, through: i64) -> Result<(), LogError> {
    for part in engine.parts(through, DELETE_BYTES) {
        let deleted = engine.queue.submit(Urgency::Reserved, move |writer| {
            let sql = "DELETE FROM groups WHERE number <= ?1";
            Ok(writer.connection.prepare_cached(sql)?.execute(params![part])?)
        });
        deleted.wait()?;
    }
    Ok(())
}

/// Packs one session's chunks up to `through`.
pub fn seal(
    connection: &Connection,
    engine: &Engine,
    key: &SessionKey,
    through: Sequence,
) -> Result<LogTicket<Sealed>, LogError> {
    let nothing = || LogTicket::ready(Ok(Sealed::default()));
    let Some(slot) = engine.slots.get(key) else {
        let number =
            rows::number(connection, key).map_err(|error| TransactionFault::from(error).into_error())?;
        return number.map(|_| nothing()).ok_or_else(|| LogError::NoSession(key.session.clone()));
    };
    let wanted = |chunk: &Chunk, _: i64| chunk.last() <= through;
    Ok(pack_slot(connection, engine, &slot, wanted)?.unwrap_or_else(nothing))
}

/// The live chunks from the packed part on, as far as they follow each other and are wanted, up to `most` bytes; and
/// whether these are all.
fn choose(state: &SlotState, wanted: impl Fn(&Chunk, i64) -> bool, most: u64) -> (Vec<Chunk>, bool) {
    let (mut next, mut bytes) = (state.packed.last.next(), 0);
    let mut chosen = Vec::new();
    for live in &state.live {
        if Some(live.chunk.first()) != next || !wanted(&live.chunk, live.group) {
            break;
        }
        if bytes >= most {
            return (chosen, false);
        }
        next = live.chunk.last().next();
        bytes += live.chunk.bytes().len() as u64;
        chosen.push(live.chunk.clone());
    }
    (chosen, true)
}

/// Compresses what is wanted and hands the rows to the writer. None if there is nothing to pack.
///
/// One commit takes no more than the write-ahead file holds: that file must not grow, least of all on a full disk.
fn pack_slot(
    connection: &Connection,
    engine: &Engine,
    slot: &Arc<SessionSlot>,
    wanted: impl Fn(&Chunk, i64) -> bool,
) -> Result<Option<LogTicket<Sealed>>, LogError> {
    let mut done = Sealed::default();
    while let Some((ticket, is_last)) = pack_piece(connection, engine, slot, &wanted)? {
        if is_last && done.chunks == 0 {
            return Ok(Some(ticket));
        }
        let piece = ticket.wait()?;
        done.chunks += piece.chunks;
        done.events += piece.events;
        done.bytes_before += piece.bytes_before;
        done.bytes_after += piece.bytes_after;
        if is_last {
            break;
        }
    }
    Ok((done.chunks > 0).then(|| LogTicket::ready(Ok(done))))
}

/// One commit of it, and whether it was the last.
fn pack_piece(
    connection: &Connection,
    engine: &Engine,
    slot: &Arc<SessionSlot>,
    wanted: impl Fn(&Chunk, i64) -> bool,
) -> Result<Option<(LogTicket<Sealed>, bool)>, LogError> {
    let most = (engine.options.wal_bytes / 2).max(SMALLEST_PIECE);
    let (before, first_available, (chosen, is_last)) = {
        let state = slot.lock();
        (state.packed, state.head.first_available, choose(&state, wanted, most))
    };
    let Some(last) = chosen.last() else { return Ok(None) };
    let after = Chain { last: last.last(), link: last.link() };
    let mut sealed = Sealed { chunks: chosen.len() as u64, ..Sealed::default() };
    sealed.events = chosen.iter().map(|chunk| u64::from(chunk.count())).sum();
    sealed.bytes_before = chosen.iter().map(|chunk| chunk.bytes().len() as u64).sum();
    let small = small_segment(connection, slot.number, before.last)
        .map_err(|error| TransactionFault::from(error).into_error())?;
    let replaced = small.is_some();
    let mut chunks: Vec<Chunk> = small.unwrap_or_default();
    chunks.retain(|chunk| chunk.last() >= first_available);
    chunks.extend(chosen);
    if seeded::is_on(Bug::SealLosesLast) {
        chunks.pop();
    }
    let segments = segment::pack(&chunks).map_err(|error| LogError::Failed(error.to_string()))?;
    sealed.bytes_after = segments.iter().map(|segment| segment.bytes.len() as u64).sum();
    let (key, number, live) = (slot.key.clone(), slot.number, sealed.bytes_before);
    let packed = Packed { key, number, before, after, replaced, live, segments };
    // It writes before it frees: on a full disk that room is for what ends work.
    let stored = engine.queue.submit(Urgency::Normal, move |writer| packed.store(writer).map(|()| sealed));
    Ok(Some((stored, is_last)))
}

/// The chunks of the segment that ends at `last`, if it is small enough to be packed again, and sound.
fn small_segment(
    connection: &Connection,
    session: i64,
    last: Sequence,
) -> rusqlite::Result<Option<Vec<Chunk>>> {
    let sql = "SELECT first, last, raw_bytes, bytes FROM segments WHERE session = ?1 AND last = ?2 AND raw_bytes < ?3";
    let read = |row: &Row<'_>| {
        let raw_bytes = row.get::<_, i64>(2)? as u64;
        Ok(segment::unpack(blob_at(row, 3)?, sequence_at(row, 0)?, sequence_at(row, 1)?, raw_bytes).ok())
    };
    let parameters = params![session, number(last), SMALL_BYTES as i64];
    Ok(connection.prepare_cached(sql)?.query_row(parameters, read).optional()?.flatten())
}

struct Packed {
    key: SessionKey,
    number: i64,
    before: Chain,
    after: Chain,
    /// The segment that ends at `before` is part of these.
    replaced: bool,
    /// The bytes of the chunks that were live before.
    live: u64,
    segments: Vec<Segment>,
}

impl Packed {
    fn store(self, writer: &mut WriterState) -> Result<(), TransactionFault> {
        let Some(slot) = writer.slot(&self.key)?.filter(|slot| slot.number == self.number) else {
            return Ok(());
        };
        if slot.lock().packed != self.before {
            return Ok(());
        }
        let mut packed_bytes = 0;
        if self.replaced {
            let sql = "DELETE FROM segments WHERE session = ?1 AND last = ?2 RETURNING raw_bytes";
            let parameters = params![self.number, number(self.before.last)];
            let replaced = writer.connection.prepare_cached(sql)?.query_row(parameters, |row| row.get(0));
            packed_bytes -= replaced.optional()?.unwrap_or(0_i64);
        }
        for segment in &self.segments {
            segment::insert(&writer.connection, self.number, segment)?;
            packed_bytes += segment.raw_bytes as i64;
        }
        let sql = "UPDATE heads SET packed_last = ?2, packed_link = ?3, packed_bytes = packed_bytes + ?4
                   WHERE session = ?1";
        let parameters =
            params![self.number, number(self.after.last), LinkColumn(self.after.link), packed_bytes];
        writer.connection.prepare_cached(sql)?.execute(parameters)?;
        let log_bytes = packed_bytes - self.live as i64;
        writer.change_usage(&self.key.tenant, UsageChange { log_bytes, ..UsageChange::default() });
        let after = self.after;
        writer.after_commit(move || slot.lock().pack_through(after));
        writer.release(&self.key, after.last);
        Ok(())
    }
}

impl SlotState {
    /// Drops the live chunks that are packed now, or retired.
    pub fn pack_through(&mut self, packed: Chain) {
        self.packed = packed;
        while self.live.front().is_some_and(|live| live.chunk.last() <= packed.last) {
            self.live.pop_front();
        }
        if self.live.is_empty() {
            self.live = VecDeque::new();
        } else {
            self.live.shrink_to(64);
        }
    }
}
