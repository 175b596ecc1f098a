//! The writer's view: the one connection that writes, and what it knows of the sessions it writes to.

mod usage;

use std::collections::HashMap;
use std::sync::Arc;

use riverrun_event::{ProducerId, Sequence, TenantId};
use riverrun_log::seeded::{self, Bug};
use riverrun_log::{
    Admission, AdmissionState, Append, Chunk, DurableAppend, Epoch, LogError, ProducerState, SessionHead,
    SessionKey, UnixMillis, UsageChange, admit,
};
use rusqlite::{Connection, OptionalExtension, params};
use slab::Slab;

use crate::failure::TransactionFault;
use crate::rows::{blob_at, millis};
use crate::segment::{LinkColumn, number, sequence_at, unpack};
use crate::shared::Shared;
use crate::slot::SessionSlot;
use crate::{commands, facts, group, rows};

pub struct WriterState {
    pub connection: Connection,
    pub shared: Arc<Shared>,
    /// The newest epoch of the one shard.
    pub epoch: Epoch,
    /// The sessions that were written to, and where in `writings` they are: found once per append by their key.
    open: foldhash::HashMap<SessionKey, usize>,
    writings: Slab<Writing>,
    group_number: i64,
    stored: Vec<StoredChunk>,
    /// Which of `writings` this group moves.
    moved: Vec<usize>,
    after: Vec<Box<dyn FnOnce() + Send>>,
    /// What this group changes of the tenants' usage.
    pub usage: foldhash::HashMap<TenantId, UsageChange>,
    /// The write-ahead file is nearly copied; the rest is to be copied after this group.
    pub finish_checkpoint: bool,
}

/// A session as it will be after the group.
struct Writing {
    slot: Arc<SessionSlot>,
    head: SessionHead,
    updated_at: UnixMillis,
    /// Its head must be written with the group.
    moved: bool,
    producers: HashMap<ProducerId, ProducerState>,
    damage: Option<LogError>,
}

/// A chunk of the group that is being written.
pub struct StoredChunk {
    pub slot: Arc<SessionSlot>,
    pub chunk: Chunk,
}

/// The visible effects of a committed group.
pub struct CommittedGroup {
    pub group: Option<i64>,
    pub stored: Vec<StoredChunk>,
    pub after: Vec<Box<dyn FnOnce() + Send>>,
}

/// Sessions that the writer remembers before it forgets those it can load again.
const OPEN_SESSIONS: usize = 50_000;
/// Room for this many times the sessions that are open is too much, unless they are few.
const SPARSE: usize = 4;
const FEW_SESSIONS: usize = 256;

impl WriterState {
    pub fn new(connection: Connection, shared: Arc<Shared>, group_number: i64) -> rusqlite::Result<Self> {
        let mut writer = Self {
            connection,
            shared,
            epoch: Epoch::default(),
            open: foldhash::HashMap::default(),
            writings: Slab::new(),
            group_number,
            stored: Vec::new(),
            moved: Vec::new(),
            after: Vec::new(),
            usage: foldhash::HashMap::default(),
            finish_checkpoint: false,
        };
        writer.reload_epoch()?;
        Ok(writer)
    }

    fn reload_epoch(&mut self) -> rusqlite::Result<()> {
        let sql = "SELECT max(epoch) FROM leases";
        let epoch: Option<i64> = self.connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
        self.epoch = Epoch(epoch.unwrap_or(0) as u64);
        Ok(())
    }

    /// Runs when the group is committed, before its tickets resolve; forgotten if it is undone.
    pub fn after_commit(&mut self, action: impl FnOnce() + Send + 'static) {
        self.after.push(Box::new(action));
    }

    pub fn append(&mut self, append: Append) -> Result<DurableAppend, TransactionFault> {
        let index = self.load(&append.key)?.ok_or_else(|| LogError::NoSession(append.key.session.clone()))?;
        let producer = self.producer_of(index, &append)?;
        let writing = &self.writings[index];
        if let Some(damage) = &writing.damage {
            return Err(damage.clone().into());
        }
        let standing = AdmissionState { epoch: self.epoch, head: &writing.head, producer };
        let stored = |first| self.stored_at(&writing.slot, first).map_err(TransactionFault::into_error);
        let admission = admit(&append, standing, stored)?;
        let (first, last, link) = (append.chunk.first(), append.chunk.last(), append.chunk.link());
        if admission == Admission::Duplicate {
            return Ok(DurableAppend { first, last, link, duplicate: true });
        }
        let bytes = append.chunk.bytes().len();
        self.admit_bytes(&append.key.tenant, bytes, append.urgency)?;
        self.write_beside(writing.slot.number, &append)?;
        let change = UsageChange { log_bytes: bytes as i64, ..UsageChange::default() };
        self.change_usage(&append.key.tenant, change);
        self.stage(index, append)?;
        Ok(DurableAppend { first, last, link, duplicate: false })
    }

    /// Everything that commits with the chunk: checked first, so that a refusal leaves nothing written.
    fn write_beside(&self, session: i64, append: &Append) -> Result<(), TransactionFault> {
        let Append { key, facts, commands: changes, idempotency, .. } = append;
        if !changes.is_empty() {
            commands::check(&self.connection, session, changes)?;
        }
        if !idempotency.is_empty() {
            commands::check_answers(&self.connection, idempotency, self.shared.options.clock.now())?;
        }
        facts::apply(&self.connection, session, key, facts)?;
        commands::apply(&self.connection, session, changes)?;
        commands::store_answers(&self.connection, idempotency)?;
        Ok(())
    }

    /// Takes an admitted chunk into the group.
    fn stage(&mut self, index: usize, append: Append) -> Result<(), TransactionFault> {
        let Append { chunk, producer, .. } = append;
        let writing = &mut self.writings[index];
        if let Some(stamp) = producer.filter(|_| !seeded::is_on(Bug::ForgetProducer)) {
            let (first, last) = (chunk.first(), chunk.last());
            let state = ProducerState { epoch: stamp.epoch, sequence: stamp.sequence, first, last };
            store_producer(&self.connection, writing.slot.number, &stamp.id, &state)?;
            writing.producers.insert(stamp.id, state);
        }
        writing.head.advance(&chunk);
        writing.updated_at = chunk.time();
        if !std::mem::replace(&mut writing.moved, true) {
            self.moved.push(index);
        }
        // Readers must find it before its row says that there is more.
        if writing.slot.lock().live.is_empty() {
            self.shared.slots.insert(Arc::clone(&writing.slot));
        }
        self.stored.push(StoredChunk { slot: Arc::clone(&writing.slot), chunk });
        Ok(())
    }

    /// Where in `writings` the session is; None if it does not exist.
    fn load(&mut self, key: &SessionKey) -> Result<Option<usize>, TransactionFault> {
        if let Some(index) = self.open.get(key) {
            return Ok(Some(*index));
        }
        let Some(row) = rows::head(&self.connection, key, &self.shared)? else { return Ok(None) };
        let known = self.shared.slots.get(key).filter(|slot| slot.number == row.number);
        let slot = known.unwrap_or_else(|| Arc::new(SessionSlot::new(row.number, key.clone(), row.state)));
        let (head, updated_at, damage) = {
            let state = slot.lock();
            let damage = if state.is_damaged { state.damage(&key.session) } else { None };
            (state.head, state.updated_at, damage)
        };
        let producers = HashMap::new();
        let index = self.writings.insert(Writing { slot, head, updated_at, moved: false, producers, damage });
        self.open.insert(key.clone(), index);
        Ok(Some(index))
    }

    fn producer_of(
        &mut self,
        index: usize,
        append: &Append,
    ) -> Result<Option<ProducerState>, TransactionFault> {
        let Some(stamp) = &append.producer else { return Ok(None) };
        let writing = &mut self.writings[index];
        if let Some(state) = writing.producers.get(&stamp.id) {
            return Ok(Some(*state));
        }
        let state = rows::producer(&self.connection, writing.slot.number, &stamp.id)?;
        if let Some(state) = state {
            writing.producers.insert(stamp.id.clone(), state);
        }
        Ok(state)
    }

    /// The chunk that begins at `first`: in this group, live, or packed.
    fn stored_at(&self, slot: &Arc<SessionSlot>, first: Sequence) -> Result<Option<Chunk>, TransactionFault> {
        let staged = self
            .stored
            .iter()
            .rev()
            .find(|stored| stored.slot.number == slot.number && stored.chunk.first() == first);
        if let Some(stored) = staged {
            return Ok(Some(stored.chunk.clone()));
        }
        let state = slot.lock();
        if first > state.packed.last {
            let index = state.live.partition_point(|live| live.chunk.first() < first);
            return Ok(state
                .live
                .get(index)
                .map(|live| live.chunk.clone())
                .filter(|chunk| chunk.first() == first));
        }
        drop(state);
        let sql = "SELECT bytes, first, last, raw_bytes FROM segments WHERE session = ?1 AND last >= ?2
                   ORDER BY last LIMIT 1";
        let found = self
            .connection
            .prepare_cached(sql)?
            .query_row(params![slot.number, number(first)], |row| {
                let raw_bytes = row.get::<_, i64>(3)? as u64;
                Ok(unpack(blob_at(row, 0)?, sequence_at(row, 1)?, sequence_at(row, 2)?, raw_bytes))
            })
            .optional()?;
        let chunks = found.and_then(Result::ok).unwrap_or_default();
        Ok(chunks.into_iter().find(|chunk| chunk.first() == first))
    }

    /// Writes the group and the heads it moves. The transaction is still open. Answers about how many pages it took.
    pub fn write_group(&mut self) -> rusqlite::Result<u64> {
        if self.stored.is_empty() {
            return Ok(1);
        }
        let bytes =
            group::encode(self.stored.iter().map(|stored| (stored.slot.number as u64, &stored.chunk)));
        let sql = "INSERT INTO groups (number, bytes) VALUES (?1, ?2)";
        self.connection.prepare_cached(sql)?.execute(params![self.group_number + 1, &bytes[..]])?;
        let sql = "UPDATE heads SET last = ?2, link = ?3, updated_at = ?4 WHERE session = ?1";
        let mut update = self.connection.prepare_cached(sql)?;
        // In the order of their rows, so that neighbours are written while their page is at hand.
        self.moved.sort_unstable_by_key(|index| self.writings[*index].slot.number);
        for index in &self.moved {
            let writing = &self.writings[*index];
            let (last, link) = (number(writing.head.last), LinkColumn(writing.head.link));
            update.execute(params![writing.slot.number, last, link, millis(writing.updated_at)])?;
        }
        Ok((bytes.len() / 4000 + self.moved.len() / 32 + 2) as u64)
    }

    /// After the commit: hands over what it means and is ready for the next group.
    pub fn committed(&mut self) -> CommittedGroup {
        let group = (!self.stored.is_empty()).then_some(self.group_number + 1);
        self.group_number = group.unwrap_or(self.group_number);
        for index in self.moved.drain(..) {
            self.writings[index].moved = false;
        }
        for (tenant, change) in self.usage.drain() {
            self.shared.change_usage(&tenant, change);
        }
        CommittedGroup {
            group,
            stored: std::mem::take(&mut self.stored),
            after: std::mem::take(&mut self.after),
        }
    }

    /// After a rollback: nothing of the group happened.
    pub fn undone(&mut self) {
        self.forget_all();
        self.stored.clear();
        self.moved.clear();
        self.after.clear();
        self.usage.clear();
        if let Err(error) = self.reload_epoch() {
            self.shared.fail(&error.to_string());
        }
    }

    fn forget_all(&mut self) {
        self.open.clear();
        self.writings.clear();
    }

    /// Forgets a session that was deleted in this group. Chunks of it that the group already holds belong to nobody.
    pub fn forget(&mut self, key: &SessionKey) {
        self.open.remove(key);
    }

    /// The bytes of this group's chunks for a session.
    pub fn staged_bytes(&self, session: i64) -> i64 {
        let staged = self.stored.iter().filter(|stored| stored.slot.number == session);
        staged.map(|stored| stored.chunk.bytes().len() as i64).sum()
    }

    /// Lets go of a session that is packed to its end and that this group does not write to: it rests, and its row
    /// tells all.
    pub fn release(&mut self, key: &SessionKey, packed: Sequence) {
        let Some(index) = self.open.get(key).copied() else { return };
        let writing = &self.writings[index];
        if writing.moved || writing.head.last != packed {
            return;
        }
        let Writing { slot, .. } = self.writings.remove(index);
        self.open.remove(key);
        let shared = Arc::clone(&self.shared);
        self.after_commit(move || shared.slots.remove_resting(&slot));
    }

    /// The session's part in memory, for changes that move it; None if the session is absent.
    pub fn slot(&mut self, key: &SessionKey) -> Result<Option<Arc<SessionSlot>>, TransactionFault> {
        Ok(self.load(key)?.map(|index| Arc::clone(&self.writings[index].slot)))
    }

    /// Bounds the memory that idle sessions take, and gives back the room of those that went. Only between groups.
    pub fn forget_idle(&mut self) {
        if self.writings.len() >= OPEN_SESSIONS {
            self.forget_all();
            self.shared.slots.forget_idle();
        }
        if self.writings.capacity() > SPARSE * self.writings.len().max(FEW_SESSIONS) {
            let open = &mut self.open;
            // Those of deleted sessions are in no map.
            self.writings.retain(|index, writing| open.get(&writing.slot.key) == Some(&index));
            self.writings.compact(|writing, _, to| {
                open.insert(writing.slot.key.clone(), to);
                true
            });
            self.open.shrink_to_fit();
            self.shared.slots.shrink();
        }
    }

    /// The row number of a session, or the refusal.
    pub fn session(&self, key: &SessionKey) -> Result<i64, TransactionFault> {
        let number = rows::number(&self.connection, key)?;
        number.ok_or_else(|| LogError::NoSession(key.session.clone()).into())
    }
}

fn store_producer(
    connection: &Connection,
    session: i64,
    producer: &ProducerId,
    state: &ProducerState,
) -> rusqlite::Result<()> {
    let sql = "INSERT INTO producers (session, producer, epoch, sequence, first, last) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
               ON CONFLICT DO UPDATE SET epoch = ?3, sequence = ?4, first = ?5, last = ?6";
    connection.prepare_cached(sql)?.execute(params![
        session,
        producer.as_str(),
        state.epoch as i64,
        state.sequence as i64,
        number(state.first),
        number(state.last)
    ])?;
    Ok(())
}
