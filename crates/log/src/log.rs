use std::path::Path;
use std::time::Duration;

use riverrun_event::{
    ActionId, CommandId, IdOrigin, KeyId, OwnerId, ProducerId, Sequence, ShareId, TaskId, TenantId, TurnId,
};

use crate::{
    ActionQuery, ActionRecord, ApiKey, Append, Appended, Blob, BlobInfo, BlobRef, Chunk, Command, Created,
    Credential, Enqueued, Expired, ExpiredQuery, Health, IdempotencyRecord, Lease, Listener, NewBlob,
    NewCommand, NewSession, Page, ProducerState, Remembered, Sealed, SealedTurn, SessionHead, SessionKey,
    SessionQuery, SessionRecord, Shard, Share, Snapshot, SnapshotFound, Stats, StorageQuotas, TaskRecord,
    Ticket, Timestamp, TurnRecord, Usage, Verification,
};

/// Where everything durable lives. One contract for every engine; `riverrun_log::contract` executes it.
///
/// ```text
///  owner ── append(epoch, chunk first..=last, facts…) ──▶ queue ──▶ one commit group ──▶ durable
///                                                                                         │ in commit order:
///      a session's log                                                                    │ 1. readable
///      [ 1  2  3 | 4 | 5  6  7 | 8  9 ]                                                   │ 2. listener
///       retired^       chunks         ^ head.last; the next chunk begins at last + 1      ▼ 3. tickets
/// ```
///
/// What an engine guarantees:
///
/// - **Durable before visible.** No read, listener or ticket shows a chunk before a crash could no longer undo it.
/// - **Dense.** A session's sequences are 1, 2, 3, …; every event has one place for ever, with the same bytes.
/// - **One owner.** An append whose epoch is not the shard's newest answers `Fenced`, from the moment `acquire` of
///   the newer one has resolved. Time plays no part in it.
/// - **Compare and append.** A chunk is taken only if it begins at `head.last + 1` and names `head.link` as previous.
///   Of any number of racers with the same first sequence exactly one wins. The very same chunk again (the same
///   bytes at the same place) answers as the first time with `duplicate: true`. Other bytes answer `Conflict`.
/// - **All or nothing.** Chunk, stamp, facts, commands and idempotency records of an append commit together.
/// - **Ordered.** Appends handed over by one thread commit in that order. If one fails, those built on it answer
///   `Conflict`.
/// - **Fails closed.** After a failed write or sync every append answers `Failed` and nothing is tried again; a full
///   disk answers `Full` and heals by itself. A damaged chunk is reported (`Corrupt`, `verify`), never skipped,
///   repaired by guess, or shown. Other sessions are not touched by it.
/// - **Never blocks.** Every call returns at once; waiting is the ticket's business.
///
/// What it deliberately does not know: what an event says, who may ask, what a status means.
pub trait Log: Send + Sync + 'static {
    // Leases.

    fn shard_of(&self, key: &SessionKey) -> Shard;

    /// Takes the shard with a new, higher epoch. `LeaseHeld` while another owner's lease runs; the same owner
    /// may acquire again at any time, which fences its former self. An engine that knows the former owner to be
    /// dead (it holds the lock of the data directory) need not wait for the time to pass.
    fn acquire(&self, shard: Shard, owner: &OwnerId, ttl: Duration) -> Ticket<Lease>;

    /// Extends a lease. `Fenced` if a newer epoch exists; an expired one that nobody took is extended.
    fn renew(&self, lease: &Lease, ttl: Duration) -> Ticket<Lease>;

    /// Lets others acquire at once. Releasing a stale lease changes nothing.
    fn release(&self, lease: &Lease) -> Ticket<()>;

    // Sessions.

    /// Makes a session with an empty log, or answers the one that is there, unchanged.
    fn create_session(&self, key: &SessionKey, new: NewSession) -> Ticket<Created>;

    /// The catalogue entry with the committed head; None if absent or deleted.
    fn session(&self, key: &SessionKey) -> Ticket<Option<SessionRecord>>;

    /// The committed head; None if absent or deleted.
    fn head(&self, key: &SessionKey) -> Ticket<Option<SessionHead>>;

    /// How the events of this session got their ids before the log was restored, in ascending order: a restored copy
    /// of an event keeps its id, and what is appended afterwards gets ids of the new incarnation. Empty for a log that
    /// was never restored, and for an absent session.
    fn id_origins(&self, key: &SessionKey) -> Ticket<Vec<IdOrigin>>;

    fn sessions(&self, query: SessionQuery) -> Ticket<Page<SessionRecord>>;

    /// Removes the log, snapshots, sealed turns, commands, catalogue entries, and the blobs that no other session
    /// refers to. False if the session was absent. Works on a full disk.
    fn delete_session(&self, key: &SessionKey) -> Ticket<bool>;

    /// Notes that somebody deletes the session, before it goes: one small record, whatever the session holds.
    /// `create_session` removes it.
    fn note_deletion(&self, key: &SessionKey, at: Timestamp) -> Ticket<()>;

    /// When somebody deleted the session. None if nobody did, or its deletion was dropped. Of a session that is there it
    /// says nothing.
    fn deleted_at(&self, key: &SessionKey) -> Ticket<Option<Timestamp>>;

    /// Drops some of the oldest deletions that were before a time or are beyond the newest [`crate::MOST_DELETIONS`];
    /// answers how many. Zero: nothing is left to drop.
    fn drop_deletions(&self, before: Timestamp) -> Ticket<u64>;

    // Events.

    /// Appends. Errors: `NoSession`, `Fenced`, `Conflict`, `SequenceExhausted`, `Producer…`, `CommandExists`,
    /// `NotFound` and `Immutable` (commands), `IdempotencyExists`, `Full`, `Failed`.
    fn append(&self, append: Append) -> Ticket<Appended>;

    /// The committed chunks behind `after`, in order, as they were appended, until `max_bytes` are reached.
    ///
    /// ```text
    /// [ 4  5  6 | 7 ]    after = 4: the chunk 4..=6 comes whole; skip what is not behind `after`
    /// ```
    ///
    /// At least one chunk comes if any is there, however large. Empty: `after` is the head or beyond it.
    /// `Retired` if `after + 1` is before `first_available`. `Corrupt` if the first chunk is damaged; a damaged one
    /// further on ends the answer before it, and the next read reports it.
    fn read(&self, key: &SessionKey, after: Sequence, max_bytes: usize) -> Ticket<Vec<Chunk>>;

    /// Replaces the listener. See [`Listener`].
    fn set_listener(&self, listener: Listener);

    /// The newest stamp that this producer left in this session.
    fn producer(&self, key: &SessionKey, producer: &ProducerId) -> Ticket<Option<ProducerState>>;

    // Catalogue.

    fn action(&self, key: &SessionKey, action: &ActionId) -> Ticket<Option<ActionRecord>>;

    fn pending_actions(&self, query: ActionQuery) -> Ticket<Page<ActionRecord>>;

    fn turn(&self, key: &SessionKey, turn: &TurnId) -> Ticket<Option<TurnRecord>>;

    /// The turns of a session that began before `before`, or all without it: newest first, at most `most`.
    fn turns(&self, key: &SessionKey, before: Option<Sequence>, most: usize) -> Ticket<Vec<TurnRecord>>;

    /// Every turn of the log without a terminal event, in order of session and first event: what a new owner
    /// must close or go on with.
    fn open_turns(&self) -> Ticket<Vec<TurnRecord>>;

    /// The sessions of this tenant that hold such a turn, oldest first, at most ten: a fork has copies of the turns
    /// of the session that it came from, and the original comes before them.
    fn find_turn(&self, tenant: &TenantId, turn: &TurnId) -> Ticket<Vec<TurnRecord>>;

    /// The sessions of this tenant that hold such a task, newest first, at most ten.
    fn find_task(&self, tenant: &TenantId, task: &TaskId) -> Ticket<Vec<TaskRecord>>;

    // Commands.

    /// Stores a command, or answers the first one with this idempotency key in the session. `NoSession` if absent,
    /// `Immutable` if its id is in use with another key.
    fn enqueue(&self, command: NewCommand) -> Ticket<Enqueued>;

    /// Commands that are not done, in order; of one session or of all.
    fn pending_commands(&self, key: Option<&SessionKey>) -> Ticket<Vec<Command>>;

    fn command(&self, key: &SessionKey, id: &CommandId) -> Ticket<Option<Command>>;

    /// Ends a command that has no effect in the log (it was refused). `NotFound`; `Immutable` if it is done.
    fn complete_command(&self, key: &SessionKey, id: &CommandId, outcome: bytes::Bytes) -> Ticket<()>;

    /// Stores an answer, or answers the record that has this scope already. An expired record counts as absent.
    fn remember(&self, record: IdempotencyRecord) -> Ticket<Remembered>;

    fn remembered(&self, tenant: &TenantId, scope: &str) -> Ticket<Option<IdempotencyRecord>>;

    // Bytes beside the log.

    /// Stores a blob under the hash of its bytes. Again is a no-op, but for the session that now refers to it too.
    /// `NoSession` if it is put for a session that is absent.
    fn put_blob(&self, tenant: &TenantId, blob: NewBlob) -> Ticket<BlobInfo>;

    /// None if absent for this tenant. `Failed` never: bytes that no longer fit their hash answer `Invalid`.
    fn blob(&self, tenant: &TenantId, reference: &BlobRef) -> Ticket<Option<Blob>>;

    fn blob_info(&self, tenant: &TenantId, reference: &BlobRef) -> Ticket<Option<BlobInfo>>;

    /// Stores a snapshot, replacing one of the same sequence. Engines keep at least the newest four of a session.
    fn put_snapshot(&self, key: &SessionKey, snapshot: Snapshot) -> Ticket<()>;

    fn snapshot(&self, key: &SessionKey, at_or_before: Sequence) -> Ticket<SnapshotFound>;

    /// Stores a finished turn. The same again is a no-op, other contents answer `Immutable`. A turn that was tried
    /// again after it was stored begins later: the latest one stays, whichever comes first.
    fn put_sealed_turn(&self, key: &SessionKey, turn: SealedTurn) -> Ticket<()>;

    fn sealed_turn(&self, key: &SessionKey, turn: &TurnId) -> Ticket<Option<SealedTurn>>;

    /// The newest sealed turns that ended at `through` or before it, oldest of them first: as many as `most` and
    /// `max_bytes` allow, but one at least if there is one. A damaged one is left out.
    fn sealed_turns(
        &self,
        key: &SessionKey,
        through: Sequence,
        most: usize,
        max_bytes: usize,
    ) -> Ticket<Vec<SealedTurn>>;

    fn sealed_turn_of_task(&self, key: &SessionKey, task: &TaskId) -> Ticket<Option<SealedTurn>>;

    // Keys.

    /// Stores a key, replacing one with the same id.
    fn put_key(&self, key: ApiKey) -> Ticket<()>;

    fn key(&self, id: &KeyId) -> Ticket<Option<ApiKey>>;

    /// Every key, of one tenant or of all, in order of id.
    fn keys(&self, tenant: Option<&TenantId>) -> Ticket<Vec<ApiKey>>;

    /// False if there is no such key. The first revocation stays.
    fn revoke_key(&self, id: &KeyId, at: Timestamp) -> Ticket<bool>;

    /// Notes the use of a key; it need not survive a crash.
    fn touch_key(&self, id: &KeyId, at: Timestamp) -> Ticket<()>;

    /// Stores a credential, replacing one with the same id, under a version higher than every earlier one.
    fn put_credential(&self, credential: Credential) -> Ticket<()>;

    /// Every credential whose version is above `after`, in order of version. Zero gives all.
    fn credentials(&self, after: u64) -> Ticket<Vec<(u64, Credential)>>;

    /// Removes the credentials that expired before a time; answers how many. Versions are not used again.
    fn drop_credentials(&self, expired_before: Timestamp) -> Ticket<u64>;

    // Shares.

    /// Stores a share, replacing one with the same id. `NoSession` if its session is absent.
    fn put_share(&self, share: Share) -> Ticket<()>;

    fn share(&self, id: &ShareId) -> Ticket<Option<Share>>;

    /// The shares of a session, oldest first, those of one millisecond in the order they were stored. They go with the session.
    fn shares(&self, key: &SessionKey) -> Ticket<Vec<Share>>;

    // Upkeep.

    /// Packs the chunks up to `through` densely. Reads answer the same chunks as before, byte for byte.
    fn seal(&self, key: &SessionKey, through: Sequence) -> Ticket<Sealed>;

    /// Drops whole chunks whose last event is at or before `through` and, if given, whose base time is before
    /// `older_than`. Of a session that is not finished nothing is dropped: one with an open turn, an open action or a
    /// pending command. Answers the first event that can still be read.
    fn retire(&self, key: &SessionKey, through: Sequence, older_than: Option<Timestamp>) -> Ticket<Sequence>;

    /// Finished sessions whose events could be retired.
    fn expired(&self, query: ExpiredQuery) -> Ticket<Vec<Expired>>;

    /// How far time has come by the reckoning of whoever retires events; None if nobody noted it. It survives a
    /// restart, so that a clock which was set forward meanwhile is noticed.
    fn noted_time(&self) -> Ticket<Option<Timestamp>>;

    fn note_time(&self, time: Timestamp) -> Ticket<()>;

    // Quotas.

    /// Replaces the quotas. From now on `create_session`, `append` and `put_blob` answer `Quota` instead of storing
    /// more than a tenant may; [`crate::QUOTA_RESERVE`] bytes more are left for reserved appends. What is stored
    /// already stays.
    fn set_quotas(&self, quotas: StorageQuotas);

    /// What a tenant has stored, or all tenants that have stored anything. It is exact at all times, also after a
    /// crash, and costs no scan.
    fn usage(&self, tenant: Option<&TenantId>) -> Ticket<Vec<(TenantId, Usage)>>;

    /// Writes a consistent copy to a new file while appends go on. Opened, the copy is another incarnation.
    /// `Invalid` if the file exists or the engine has no files.
    fn backup(&self, to: &Path) -> Ticket<()>;

    /// Reads everything and checks checksums, links, density, heads and hashes. Finds every defect, not the first.
    fn verify(&self) -> Ticket<Verification>;

    fn stats(&self) -> Ticket<Stats>;

    fn health(&self) -> Health;

    /// Commits what is queued, then refuses everything with `Closed`. The one call that may block: it ends threads.
    fn close(&self) -> Ticket<()>;
}
