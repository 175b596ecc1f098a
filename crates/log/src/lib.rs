//! The log: the one place where anything becomes durable, as a contract that engines keep.
//!
//! This crate is not an engine for production (the one in [`memory`] forgets everything), does no I/O, and does not
//! know what an event says: records are opaque bytes. The clock and randomness arrive as arguments.
//!
//! ```
//! use std::{sync::Arc, time::Duration};
//! use riverrun_event::{OwnerId, Sequence, SessionId, TenantId};
//! use riverrun_log::{
//!     Append, Catalogue, EventStore, ManualClock, SessionKey, SessionSpec, Shard, ShardLeases, UnixMillis,
//! };
//! use riverrun_log::memory::MemoryLog;
//!
//! let log = MemoryLog::new(Arc::new(ManualClock::at(UnixMillis::from_millis(0))));
//! let lease = log.acquire(Shard(0), &OwnerId::new("node_1")?, Duration::from_secs(10)).wait()?;
//! let key = SessionKey::new(TenantId::new("acme")?, SessionId::new("hello")?);
//! let head = log.create_session(&key, SessionSpec::default()).wait()?.record.head;
//! // An owner builds the next chunk behind the head, and appends it with the epoch of its lease.
//! let mut chunk = head.next_chunk(UnixMillis::from_millis(0)).ok_or("full")?;
//! chunk.push(b"a record");
//! let chunk = chunk.finish().ok_or("too large")?;
//! log.append(Append::new(key.clone(), lease.epoch, chunk)).wait()?;
//! assert_eq!(log.read(&key, Sequence::ZERO, 1024).wait()?.len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(missing_docs)]

mod admission;
mod append;
mod blob;
mod chain;
mod chunk;
mod clock;
mod command;
pub mod contract;
mod error;
mod fact;
mod key;
mod lease;
mod log;
pub mod memory;
mod quota;
mod remote_change;
pub mod seeded;
mod session;
mod share;
mod ticket;
mod upkeep;
pub mod varint;

pub use admission::{Admission, AdmissionState, admit, admit_producer};
pub use append::{Append, AppendStamp, Committed, DurableAppend, Listener, ProducerState, Urgency};
pub use blob::{BlobContent, BlobId, BlobInfo, NewBlob, SealedTurnRecord, Snapshot, SnapshotFound};
pub use chain::Chain;
pub use chunk::{Chunk, ChunkBuilder, ChunkError, Link, MAX_CHUNK_BYTES, Records};
pub use clock::{Clock, ManualClock, Random, SeededRandom, SystemClock, UnixMillis};
pub use command::{
    CommandChange, CommandState, Digest, Enqueued, IdempotencyRecord, NewCommand, Remembered, StoredCommand,
};
pub use error::LogError;
pub use fact::{
    AT_WORK, ActionQuery, ActionRecord, Fact, HALTED, NewAction, OpenWork, Resolution, SessionChange,
    StatusUpdate, TaskFact, TaskRecord, TurnFact, TurnRecord, WorkProgress,
};
pub use key::{ApiKey, Credential};
pub use lease::{Epoch, Lease, Shard, ShardState, WorkScope};
pub use log::{
    BlobStore, Catalogue, CommandStore, CommitFeed, EventStore, KeyStore, Log, Maintenance, ShardLeases,
};
pub use quota::{QUOTA_RESERVE, StorageQuota, StorageQuotas, Usage, UsageChange};
pub use remote_change::{RemoteChange, RemoteListener};
pub use session::{
    Created, ListPage, MOST_DELETIONS, PageRequest, SessionHead, SessionKey, SessionQuery, SessionRecord,
    SessionSpec,
};
pub use share::ShareRecord;
pub use ticket::{LogTicket, Promise};
pub use upkeep::{Defect, Expired, ExpiredQuery, LogHealth, Sealed, Stats, Verification};
