use riverrun_event::{Sequence, TaskId, TenantId, TurnId};

use crate::{
    BlobContent, BlobId, BlobInfo, LogTicket, NewBlob, SealedTurnRecord, SessionKey, Snapshot, SnapshotFound,
};

/// Bytes beside the events: blobs, snapshots and finished turns.
///
/// ```text
///  events     [ 1  2  3  4  5 | 6  7  8 ]
///  sealed turn └─ turn_1 ────┘      ^ snapshot at 7: the fold of 1..=7
///  blob        payloads too large for an event, by the hash of their bytes
/// ```
///
/// Snapshots and sealed turns can be computed again from the events; blobs cannot. All go with their session.
pub trait BlobStore: Send + Sync {
    /// Stores a blob under the hash of its bytes. Again is a no-op, but for the session that now refers to it too.
    /// `NoSession` if it is put for a session that is absent.
    fn put_blob(&self, tenant: &TenantId, blob: NewBlob) -> LogTicket<BlobInfo>;

    /// None if absent for this tenant. `Failed` never: bytes that no longer fit their hash answer `Invalid`.
    fn blob(&self, tenant: &TenantId, reference: &BlobId) -> LogTicket<Option<BlobContent>>;

    /// What is known of a blob; None if the tenant has no such blob.
    fn blob_info(&self, tenant: &TenantId, reference: &BlobId) -> LogTicket<Option<BlobInfo>>;

    /// Stores a snapshot, replacing one of the same sequence. Engines keep at least the newest four of a session.
    fn put_snapshot(&self, key: &SessionKey, snapshot: Snapshot) -> LogTicket<()>;

    /// The newest snapshot at or before an event.
    fn snapshot(&self, key: &SessionKey, at_or_before: Sequence) -> LogTicket<SnapshotFound>;

    /// Stores a finished turn. The same again is a no-op, other contents answer `Immutable`. A turn that was tried
    /// again after it was stored begins later: the latest one stays, whichever comes first.
    fn put_sealed_turn(&self, key: &SessionKey, turn: SealedTurnRecord) -> LogTicket<()>;

    /// A sealed turn; None if the turn is not sealed.
    fn sealed_turn(&self, key: &SessionKey, turn: &TurnId) -> LogTicket<Option<SealedTurnRecord>>;

    /// The newest sealed turns that ended at `through` or before it, oldest of them first: as many as `most` and
    /// `max_bytes` allow, but one at least if there is one. A damaged one is left out.
    fn sealed_turns(
        &self,
        key: &SessionKey,
        through: Sequence,
        most: usize,
        max_bytes: usize,
    ) -> LogTicket<Vec<SealedTurnRecord>>;

    /// The sealed turn with this task; None if there is none.
    fn sealed_turn_of_task(&self, key: &SessionKey, task: &TaskId) -> LogTicket<Option<SealedTurnRecord>>;
}
