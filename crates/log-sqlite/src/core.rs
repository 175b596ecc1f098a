//! The writer's view: the one connection that writes, and what it knows of the sessions it writes to.

use std::collections::HashMap;
use std::sync::Arc;

use riverrun_event::{ProducerId, Sequence};
use riverrun_log::seeded::{self, Bug};
use riverrun_log::{
    Admission, Append, Appended, Chunk, Epoch, Error, ProducerState, SessionHead, SessionKey, Standing,
    Timestamp, admit,
};
use rusqlite::{Connection, OptionalExtension, params};

use crate::failure::Fault;
use crate::group::Group;
use crate::rows::blob_at;
use crate::segment::{LinkColumn, number, sequence_at, unpack};
use crate::shared::Shared;
use crate::slot::Slot;
use crate::{commands, facts, rows};

pub struct Core {
    pub connection: Connection,
    pub shared: Arc<Shared>,
    /// The newest epoch of the one shard.
    pub epoch: Epoch,
    open: HashMap<SessionKey, Writing>,
    group: Group,
    group_number: i64,
    stored: Vec<Stored>,
    touched: Vec<SessionKey>,
    after: Vec<Box<dyn FnOnce() + Send>>,
    /// The write-ahead file is nearly copied; the rest is to be copied after this group.
    pub finish_checkpoint: bool,
}

/// A session as it will be after the group.
struct Writing {
    slot: Arc<Slot>,
    head: SessionHead,
    updated_at: Timestamp,
    /// Its head must be written with the group.
    moved: bool,
    producers: HashMap<ProducerId, ProducerState>,
    damage: Option<Error>,
}

/// A chunk of the group that is being written.
pub struct Stored {
    pub slot: Arc<Slot>,
    pub chunk: Chunk,
}

/// What a committed group means for everybody else.
pub struct Committed {
    pub group: Option<(i64, usize)>,
    pub stored: Vec<Stored>,
    pub after: Vec<Box<dyn FnOnce() + Send>>,
}

/// Sessions without live chunks that the writer remembers before it forgets them all.
const OPEN_SESSIONS: usize = 50_000;

impl Core {
    pub fn new(connection: Connection, shared: Arc<Shared>, group_number: i64) -> rusqlite::Result<Self> {
        let mut core = Self {
            connection,
            shared,
            epoch: Epoch::default(),
            open: HashMap::new(),
            group: Group::default(),
            group_number,
            stored: Vec::new(),
            touched: Vec::new(),
            after: Vec::new(),
            finish_checkpoint: false,
        };
        core.reload_epoch()?;
        Ok(core)
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

    pub fn append(&mut self, append: &Append) -> Result<Appended, Fault> {
        let chunk = &append.chunk;
        self.load(&append.key)?;
        let producer = self.producer_of(append)?;
        let Some(writing) = self.open.get(&append.key) else {
            return Err(Error::NoSession(append.key.session.clone()).into());
        };
        if let Some(damage) = &writing.damage {
            return Err(damage.clone().into());
        }
        let standing = Standing { epoch: self.epoch, head: &writing.head, producer };
        let slot = Arc::clone(&writing.slot);
        let admission =
            admit(append, standing, |first| self.stored_at(&slot, first).map_err(Fault::into_error))?;
        let (first, last, link) = (chunk.first(), chunk.last(), chunk.link());
        if admission == Admission::Duplicate {
            return Ok(Appended { first, last, link, duplicate: true });
        }
        let now = self.shared.options.clock.now();
        commands::check(&self.connection, slot.number, &append.commands)?;
        commands::check_answers(&self.connection, &append.idempotency, now)?;
        facts::apply(&self.connection, slot.number, &append.key, &append.facts)?;
        commands::apply(&self.connection, slot.number, &append.commands)?;
        commands::store_answers(&self.connection, &append.idempotency)?;
        self.stage(append, slot)?;
        Ok(Appended { first, last, link, duplicate: false })
    }

    /// Takes an admitted chunk into the group.
    fn stage(&mut self, append: &Append, slot: Arc<Slot>) -> Result<(), Fault> {
        let chunk = &append.chunk;
        let Some(writing) = self.open.get_mut(&append.key) else { return Ok(()) };
        if let Some(stamp) = append.producer.as_ref().filter(|_| !seeded::is_on(Bug::ForgetProducer)) {
            let (first, last) = (chunk.first(), chunk.last());
            let state = ProducerState { epoch: stamp.epoch, sequence: stamp.sequence, first, last };
            store_producer(&self.connection, slot.number, &stamp.id, &state)?;
            writing.producers.insert(stamp.id.clone(), state);
        }
        writing.head.advance(chunk);
        writing.updated_at = chunk.time();
        if !std::mem::replace(&mut writing.moved, true) {
            self.touched.push(append.key.clone());
        }
        self.group.push(slot.number as u64, chunk.clone());
        self.stored.push(Stored { slot, chunk: chunk.clone() });
        Ok(())
    }

    /// Makes sure that `open` has the session, if it exists.
    fn load(&mut self, key: &SessionKey) -> Result<(), Fault> {
        if self.open.contains_key(key) {
            return Ok(());
        }
        let Some(row) = rows::head(&self.connection, key, &self.shared)? else { return Ok(()) };
        let known = self.shared.slots.get(key).filter(|slot| slot.number == row.number);
        let slot = known.unwrap_or_else(|| Arc::new(Slot::new(row.number, key.clone(), row.state)));
        let (head, updated_at, damage) = {
            let state = slot.lock();
            (state.head, state.updated_at, state.damage(&key.session))
        };
        let producers = HashMap::new();
        self.open.insert(key.clone(), Writing { slot, head, updated_at, moved: false, producers, damage });
        Ok(())
    }

    fn producer_of(&mut self, append: &Append) -> Result<Option<ProducerState>, Fault> {
        let (Some(stamp), Some(writing)) = (&append.producer, self.open.get_mut(&append.key)) else {
            return Ok(None);
        };
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
    fn stored_at(&self, slot: &Arc<Slot>, first: Sequence) -> Result<Option<Chunk>, Fault> {
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
            let place = state.live.partition_point(|live| live.chunk.first() < first);
            return Ok(state
                .live
                .get(place)
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

    /// Writes the group and the heads it moves. The transaction is still open.
    pub fn write_group(&mut self) -> rusqlite::Result<u64> {
        if self.group.is_empty() {
            return Ok(1);
        }
        let bytes = self.group.encode();
        let sql = "INSERT INTO groups (number, bytes) VALUES (?1, ?2)";
        self.connection.prepare_cached(sql)?.execute(params![self.group_number + 1, &bytes[..]])?;
        let sql = "UPDATE heads SET last = ?2, link = ?3, updated_at = ?4 WHERE session = ?1";
        let mut update = self.connection.prepare_cached(sql)?;
        for key in &self.touched {
            let Some(writing) = self.open.get(key) else { continue };
            let (last, link) = (number(writing.head.last), LinkColumn(writing.head.link));
            let updated_at = writing.updated_at.millis() as i64;
            update.execute(params![writing.slot.number, last, link, updated_at])?;
        }
        Ok((bytes.len() / 4000 + self.touched.len() / 32 + 2) as u64)
    }

    /// After the commit: hands over what it means and is ready for the next group.
    pub fn committed(&mut self) -> Committed {
        let group = (!self.group.is_empty()).then(|| {
            self.group_number += 1;
            (self.group_number, self.group.bytes())
        });
        for key in self.touched.drain(..) {
            if let Some(writing) = self.open.get_mut(&key) {
                writing.moved = false;
            }
        }
        self.group.clear();
        Committed { group, stored: std::mem::take(&mut self.stored), after: std::mem::take(&mut self.after) }
    }

    /// After a rollback: nothing of the group happened.
    pub fn undone(&mut self) {
        self.open.clear();
        self.group.clear();
        self.stored.clear();
        self.touched.clear();
        self.after.clear();
        if let Err(error) = self.reload_epoch() {
            self.shared.fail(&error.to_string());
        }
    }

    /// Forgets a session that was deleted in this group. Chunks of it that the group already holds belong to nobody.
    pub fn forget(&mut self, key: &SessionKey) {
        self.open.remove(key);
    }

    /// The session's part in memory, for changes that move it; None if the session is absent.
    pub fn slot(&mut self, key: &SessionKey) -> Result<Option<Arc<Slot>>, Fault> {
        self.load(key)?;
        Ok(self.open.get(key).map(|writing| Arc::clone(&writing.slot)))
    }

    /// Bounds the memory that sessions without live chunks take. Only between groups.
    pub fn forget_idle(&mut self) {
        if self.open.len() >= OPEN_SESSIONS {
            self.open.clear();
            self.shared.slots.forget_idle();
        }
    }

    /// The row number of a session, or the refusal.
    pub fn session(&self, key: &SessionKey) -> Result<i64, Fault> {
        let number = rows::number(&self.connection, key)?;
        number.ok_or_else(|| Error::NoSession(key.session.clone()).into())
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
