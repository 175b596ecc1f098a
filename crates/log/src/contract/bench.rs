//! What a case works with: a log, a clock, and short ways to say the usual things.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use riverrun_event::{OwnerId, ProducerId, Sequence, SessionId, TenantId};

use super::Requirement;
use crate::memory::LostAnswer;
use crate::{
    Append, AppendStamp, Chunk, DurableAppend, Epoch, Log, LogError, ManualClock, SessionHead, SessionKey,
    SessionSpec, Shard, StoredCommand, TurnRecord, UnixMillis, WorkScope,
};

/// Makes an empty engine with this clock.
pub type Factory<'a> = dyn Fn(Arc<ManualClock>) -> Box<dyn Bench> + 'a;

/// One engine under test.
pub trait Bench {
    /// The engine.
    fn log(&self) -> Arc<dyn Log>;

    /// The clock of the engine.
    fn clock(&self) -> Arc<ManualClock>;

    /// Closes the log and opens it again from what is durable. False if the engine keeps nothing.
    fn reopen(&mut self) -> bool;

    /// Opens a backup that the log wrote to this path; None if the engine keeps nothing.
    fn open_backup(&self, path: &std::path::Path) -> Option<Arc<dyn Log>>;

    /// A path for a new file.
    fn scratch(&self) -> std::path::PathBuf;

    /// Why the engine cannot have this, if it cannot. By default an engine can have everything.
    fn lacks(&self, _requirement: Requirement) -> Option<&'static str> {
        None
    }

    /// Opens another instance of the same store. Called only if the bench does not lack it.
    fn second_instance(&self) -> Option<Arc<dyn Log>> {
        None
    }

    /// The next append is answered as if the connection broke during its commit. Called only if the bench does not lack
    /// it.
    fn lose_next_answer(&self, _lost: LostAnswer) {}
}

pub const TTL: Duration = Duration::from_secs(10);

pub fn id<T: std::str::FromStr>(text: &str) -> T {
    text.parse().unwrap_or_else(|_| panic!("`{text}` is a valid id"))
}

pub fn key(session: &str) -> SessionKey {
    SessionKey::new(id::<TenantId>("acme"), id::<SessionId>(session))
}

pub fn seq(value: u64) -> Sequence {
    Sequence::new(value).unwrap_or_else(|| panic!("{value} is in range"))
}

pub fn time(millis: u64) -> UnixMillis {
    UnixMillis::from_millis(millis)
}

/// The answer of a call that must succeed.
#[track_caller]
pub fn ok<T>(ticket: crate::LogTicket<T>) -> T {
    match ticket.wait() {
        Ok(value) => value,
        Err(error) => panic!("refused: {error}"),
    }
}

/// The error of a call that must not succeed.
#[track_caller]
pub fn refused<T: std::fmt::Debug>(ticket: crate::LogTicket<T>) -> LogError {
    match ticket.wait() {
        Ok(value) => panic!("taken: {value:?}"),
        Err(error) => error,
    }
}

/// Acquires every shard. All have the same epoch as long as they are acquired together.
pub fn own(log: &dyn Log) -> Epoch {
    let owner = id::<OwnerId>("own_1");
    let epochs: Vec<_> =
        (0..log.shard_count()).map(|shard| ok(log.acquire(Shard(shard), &owner, TTL)).epoch).collect();
    assert!(epochs.iter().all(|epoch| *epoch == epochs[0]), "{epochs:?}");
    epochs[0]
}

/// The open turns of all shards, one shard after the other.
pub fn all_open_turns(log: &dyn Log) -> Vec<TurnRecord> {
    let shards = Shard::all(log.shard_count());
    shards.flat_map(|shard| ok(log.open_turns(WorkScope::Shard(shard)))).collect()
}

/// The pending commands of all shards, in the order in which they came.
pub fn all_pending_commands(log: &dyn Log) -> Vec<StoredCommand> {
    let shards = Shard::all(log.shard_count());
    let mut all: Vec<_> =
        shards.flat_map(|shard| ok(log.pending_commands(WorkScope::Shard(shard)))).collect();
    all.sort_by_key(|command| command.number);
    all
}

pub fn new_session() -> SessionSpec {
    SessionSpec { status: "idle".to_owned(), created_at: time(1_000), ..SessionSpec::default() }
}

/// A session with an empty log.
pub fn made(log: &dyn Log, name: &str) -> SessionKey {
    let key = key(name);
    ok(log.create_session(&key, new_session()));
    key
}

pub fn head(log: &dyn Log, key: &SessionKey) -> SessionHead {
    ok(log.head(key)).unwrap_or_else(|| panic!("{key:?} has a head"))
}

pub fn chunk_after(head: &SessionHead, at: UnixMillis, records: &[&[u8]]) -> Chunk {
    let mut builder = head.next_chunk(at).unwrap_or_else(|| panic!("the log is not exhausted"));
    records.iter().for_each(|record| builder.push(record));
    builder.finish().unwrap_or_else(|| panic!("the chunk is in range"))
}

/// Appends records behind the committed head.
#[track_caller]
pub fn append(log: &dyn Log, key: &SessionKey, epoch: Epoch, records: &[&[u8]]) -> DurableAppend {
    let chunk = chunk_after(&head(log, key), time(2_000), records);
    ok(log.append(Append::new(key.clone(), epoch, chunk)))
}

pub fn stamped(append: Append, producer: &str, epoch: u64, sequence: u64) -> Append {
    let stamp = AppendStamp { id: id::<ProducerId>(producer), epoch, sequence };
    Append { producer: Some(stamp), ..append }
}

/// Every record that can be read, read in small steps.
#[track_caller]
pub fn all_records(log: &dyn Log, key: &SessionKey) -> Vec<(u64, Bytes)> {
    let mut after = head(log, key).first_available.previous();
    let mut found = Vec::new();
    loop {
        let chunks = ok(log.read(key, after, 1_000));
        let Some(last) = chunks.last() else { return found };
        for chunk in &chunks {
            let records = chunk.records_after(after);
            found.extend(records.map(|(sequence, record)| (sequence.get(), Bytes::copy_from_slice(record))));
        }
        after = last.last();
    }
}

/// Record contents as they are told apart in tests.
pub fn numbered(range: std::ops::RangeInclusive<u64>) -> Vec<(u64, Bytes)> {
    range.map(|n| (n, Bytes::from(format!("record {n}")))).collect()
}

/// Appends `record n` for each n of the range, one chunk each.
pub fn append_numbered(log: &dyn Log, key: &SessionKey, epoch: Epoch, range: std::ops::RangeInclusive<u64>) {
    for n in range {
        append(log, key, epoch, &[format!("record {n}").as_bytes()]);
    }
}
