//! What the tests of the embedded engine share.
#![allow(dead_code)]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use riverrun_event::{Sequence, SessionId, TenantId};
use riverrun_log::{
    Append, Chunk, DurableAppend, Epoch, Log, LogError, LogTicket, SessionHead, SessionKey, SessionSpec,
    Shard, UnixMillis,
};
use riverrun_log_sqlite::{OpenLogError, SqliteLog, SqliteOptions};

/// Small figures, so that a few events reach what takes millions elsewhere.
pub fn options(directory: &Path) -> SqliteOptions {
    SqliteOptions { reserve_bytes: 0, wal_bytes: 64 << 10, ..SqliteOptions::new(directory) }
}

pub fn open(directory: &Path) -> Arc<SqliteLog> {
    open_with(options(directory))
}

pub fn open_with(options: SqliteOptions) -> Arc<SqliteLog> {
    Arc::new(try_open(options).expect("the directory can be opened"))
}

pub fn try_open(options: SqliteOptions) -> Result<SqliteLog, OpenLogError> {
    SqliteLog::open(options)
}

pub fn key(name: &str) -> SessionKey {
    SessionKey::new(TenantId::new("acme").expect("an id"), SessionId::new(name).expect("an id"))
}

pub fn seq(value: u64) -> Sequence {
    Sequence::new(value).expect("in range")
}

pub fn own(log: &dyn Log) -> Epoch {
    let owner = "own_1".parse().expect("an id");
    log.acquire(Shard(0), &owner, Duration::from_secs(10)).wait().expect("the lease is free").epoch
}

pub fn create(log: &dyn Log, name: &str) -> SessionKey {
    let key = key(name);
    log.create_session(&key, SessionSpec::default()).wait().expect("created");
    key
}

pub fn head(log: &dyn Log, key: &SessionKey) -> SessionHead {
    log.head(key).wait().expect("readable").expect("there")
}

pub fn chunk(head: &SessionHead, record: &[u8]) -> Chunk {
    let mut builder = head.next_chunk(UnixMillis::from_millis(1_700_000_000_000)).expect("not exhausted");
    builder.push(record);
    builder.finish().expect("in range")
}

pub fn try_append(
    log: &dyn Log,
    key: &SessionKey,
    epoch: Epoch,
    record: &[u8],
) -> Result<DurableAppend, LogError> {
    log.append(Append::new(key.clone(), epoch, chunk(&head(log, key), record))).wait()
}

/// The record that belongs at a place of a session.
pub fn record(key: &SessionKey, n: u64) -> Bytes {
    Bytes::from(format!("record {n} of {}: the quick brown fox jumps over the lazy dog", key.session))
}

/// Appends the records that belong at the next `count` places, without waiting in between.
pub fn append(log: &dyn Log, key: &SessionKey, epoch: Epoch, count: u64) {
    let mut head = head(log, key);
    let mut tickets: Vec<LogTicket<DurableAppend>> = Vec::new();
    for n in head.last.get() + 1..=head.last.get() + count {
        let chunk = chunk(&head, &record(key, n));
        head.advance(&chunk);
        tickets.push(log.append(Append::new(key.clone(), epoch, chunk)));
    }
    tickets.into_iter().for_each(|ticket| assert!(ticket.wait().is_ok()));
}

/// How many records can be read from the first on. Panics if one of them is not what belongs there.
pub fn read(log: &dyn Log, key: &SessionKey) -> Result<u64, LogError> {
    let mut after = Sequence::ZERO;
    loop {
        let chunks = log.read(key, after, 10_000).wait()?;
        let Some(last) = chunks.last() else { return Ok(after.get()) };
        for (n, bytes) in chunks.iter().flat_map(|chunk| chunk.records_after(after)) {
            assert_eq!(bytes, record(key, n.get()), "at {n}");
        }
        after = last.last();
    }
}
