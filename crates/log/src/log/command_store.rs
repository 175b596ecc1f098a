use riverrun_event::{CommandId, TenantId};

use crate::{
    Enqueued, IdempotencyRecord, LogTicket, NewCommand, Remembered, SessionKey, StoredCommand, WorkScope,
};

/// Commands that wait for the owner of a session, and stored answers to requests.
///
/// ```text
///  enqueue ──▶ Pending ──▶ Claimed ──▶ Done         claim and done commit with the events they caused
///               └── complete_command ──▶ Done       or without events, if the command was refused
/// ```
///
/// Of any number of requests with one idempotency key exactly one is stored; the others get the first.
pub trait CommandStore: Send + Sync {
    /// Stores a command, or answers the first one with this idempotency key in the session. `NoSession` if absent,
    /// `Immutable` if its id is in use with another key.
    fn enqueue(&self, command: NewCommand) -> LogTicket<Enqueued>;

    /// The commands of a shard or a session that are not done, in the order in which they came.
    fn pending_commands(&self, scope: WorkScope) -> LogTicket<Vec<StoredCommand>>;

    /// A command; None if it never existed.
    fn command(&self, key: &SessionKey, id: &CommandId) -> LogTicket<Option<StoredCommand>>;

    /// Ends a command that has no effect in the log (it was refused). `NotFound`; `Immutable` if it is done.
    fn complete_command(&self, key: &SessionKey, id: &CommandId, outcome: bytes::Bytes) -> LogTicket<()>;

    /// Stores an answer, or answers the record that has this scope already. An expired record counts as absent.
    fn remember(&self, record: IdempotencyRecord) -> LogTicket<Remembered>;

    /// The answer that was given for an idempotency scope; None if there is none.
    fn remembered(&self, tenant: &TenantId, scope: &str) -> LogTicket<Option<IdempotencyRecord>>;
}
