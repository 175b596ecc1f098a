//! Where the runner writes and reads. The server's hubs are one; tests have another over the in-memory log.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use riverrun_event::{Decoded, Sequence};
use riverrun_fold::State;
use riverrun_log::{
    Chunk, CommandChange, DurableAppend, Fact, IdempotencyRecord, Log, LogError, LogTicket, SessionKey,
    Urgency,
};

pub type JournalFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, JournalError>> + Send + 'a>>;

pub trait Journal: Send + Sync + 'static {
    /// The session that has this key now. `NoSession` if none has.
    fn open<'a>(&'a self, key: &'a SessionKey) -> JournalFuture<'a, Incarnation>;

    /// Appends at the end of the session's log; resolves when durable. All of the entry, or nothing: it is taken, and
    /// given back if the store is full. `NoSession` if the session was deleted, also if its key has another one now.
    fn append<'a>(&'a self, of: &'a Incarnation, entry: &'a mut Entry) -> JournalFuture<'a, AppendedEvents>;

    /// Hands an entry over without waiting until it is durable. None if that is not possible: nothing was taken.
    fn begin<'a>(
        &'a self,
        _of: &'a Incarnation,
        _entry: &'a mut Entry,
    ) -> JournalFuture<'a, Option<Box<dyn PendingAppend>>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// The state at the head, from the nearest snapshot on. `NoSession` as for an append.
    fn state<'a>(&'a self, of: &'a Incarnation) -> JournalFuture<'a, State>;

    /// The chunks behind `after`.
    fn read<'a>(&'a self, key: &'a SessionKey, after: Sequence) -> JournalFuture<'a, Vec<Chunk>>;

    /// Commands, leases, the catalogue, blobs.
    fn log(&self) -> &Arc<dyn Log>;
}

/// A session, and which of all that ever had its key: what is done for one never reaches the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incarnation {
    pub key: SessionKey,
    pub number: u32,
}

/// What commits together.
#[derive(Debug, Default)]
pub struct Entry {
    pub events: Vec<Decoded>,
    /// Facts beside those that the events tell by themselves.
    pub facts: Vec<Fact>,
    pub commands: Vec<CommandChange>,
    pub idempotency: Vec<IdempotencyRecord>,
    /// Reserved for what ends work: it may use what is kept back beyond a quota or on a full disk.
    pub urgency: Urgency,
}

/// An entry that was handed over.
pub trait PendingAppend: Send + Sync {
    fn ticket(&mut self) -> &mut LogTicket<DurableAppend>;

    /// What the log's answer means for the entry.
    fn complete(self: Box<Self>, answer: Result<DurableAppend, LogError>) -> AppendOutcome;
}

/// What became of an entry that was handed over.
pub enum AppendOutcome {
    Durable(AppendedEvents),
    /// The log did not take it at first. It is given back if it is not taken in the end.
    Retrying(AppendRetry),
}

pub type AppendRetry = Pin<Box<dyn Future<Output = Result<AppendedEvents, (JournalError, Entry)>> + Send>>;

#[derive(Debug)]
pub struct AppendedEvents {
    pub first: Sequence,
    pub last: Sequence,
    /// The events of the entry, so that nobody reads them twice.
    pub events: Vec<Decoded>,
}

#[derive(Debug, Clone, thiserror::Error)]
pub enum JournalError {
    #[error("there is no such session")]
    NoSession,
    /// Another owner has the session now: stop at once, write nothing more.
    #[error("another server owns this session now")]
    Fenced,
    #[error("the command is stored already")]
    CommandExists,
    /// The disk is full; the same may succeed later.
    #[error("the store is full")]
    Full,
    /// The tenant may store no more; waiting does not help.
    #[error("the tenant's quota `{quota}` is used up: {used} of {limit}")]
    Quota { quota: &'static str, limit: u64, used: u64 },
    #[error("the store is not available: {0}")]
    Unavailable(String),
    #[error("the entry is not acceptable: {0}")]
    Invalid(String),
}
