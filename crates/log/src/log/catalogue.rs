use riverrun_event::{ActionId, Sequence, ShareId, TaskId, TenantId, TurnId};

use crate::{
    ActionQuery, ActionRecord, Created, ListPage, LogTicket, SessionKey, SessionQuery, SessionRecord,
    SessionSpec, ShareRecord, TaskRecord, TurnRecord, UnixMillis, WorkScope,
};

/// What can be asked about sessions without reading their events.
///
/// ```text
///  append(chunk, facts) ─▶ one commit ─▶ sessions, turns, actions, tasks: never ahead of the log, never behind it
/// ```
///
/// An engine stores the facts of an append as they come and answers queries about them. It derives nothing: what a
/// status means is decided above.
pub trait Catalogue: Send + Sync {
    /// Makes a session with an empty log, or answers the one that is there, unchanged.
    fn create_session(&self, key: &SessionKey, new: SessionSpec) -> LogTicket<Created>;

    /// The catalogue entry with the committed head; None if absent or deleted.
    fn session(&self, key: &SessionKey) -> LogTicket<Option<SessionRecord>>;

    /// One page of sessions.
    fn sessions(&self, query: SessionQuery) -> LogTicket<ListPage<SessionRecord>>;

    /// Removes the log, snapshots, sealed turns, commands, catalogue entries, and the blobs that no other session
    /// refers to. False if the session was absent. Works on a full disk.
    fn delete_session(&self, key: &SessionKey) -> LogTicket<bool>;

    /// Notes that somebody deletes the session, before it goes: one small record, whatever the session holds.
    /// `create_session` removes it.
    fn note_deletion(&self, key: &SessionKey, at: UnixMillis) -> LogTicket<()>;

    /// When somebody deleted the session. None if nobody did, or its deletion was dropped. Of a session that is there
    /// it says nothing.
    fn deleted_at(&self, key: &SessionKey) -> LogTicket<Option<UnixMillis>>;

    /// Drops some of the oldest deletions that were before a time or are beyond the newest [`crate::MOST_DELETIONS`];
    /// answers how many. Zero: nothing is left to drop.
    fn drop_deletions(&self, before: UnixMillis) -> LogTicket<u64>;

    /// An action, also after its decision; None if it never existed.
    fn action(&self, key: &SessionKey, action: &ActionId) -> LogTicket<Option<ActionRecord>>;

    /// One page of actions that wait.
    fn pending_actions(&self, query: ActionQuery) -> LogTicket<ListPage<ActionRecord>>;

    /// A turn; None if it never existed.
    fn turn(&self, key: &SessionKey, turn: &TurnId) -> LogTicket<Option<TurnRecord>>;

    /// The turns of a session that began before `before`, or all without it: newest first, at most `most`.
    fn turns(&self, key: &SessionKey, before: Option<Sequence>, most: usize) -> LogTicket<Vec<TurnRecord>>;

    /// Every turn of a shard or a session without a terminal event, in order of session and first event: what a new
    /// owner must close or continue.
    fn open_turns(&self, scope: WorkScope) -> LogTicket<Vec<TurnRecord>>;

    /// The sessions of this tenant that hold such a turn, oldest first, at most ten: a fork has copies of the turns
    /// of the session that it came from, and the original comes before them.
    fn find_turn(&self, tenant: &TenantId, turn: &TurnId) -> LogTicket<Vec<TurnRecord>>;

    /// The sessions of this tenant that hold such a task, newest first, at most ten.
    fn find_task(&self, tenant: &TenantId, task: &TaskId) -> LogTicket<Vec<TaskRecord>>;

    /// Stores a share, replacing one with the same id. `NoSession` if its session is absent.
    fn put_share(&self, share: ShareRecord) -> LogTicket<()>;

    /// A share link; None if it never existed.
    fn share(&self, id: &ShareId) -> LogTicket<Option<ShareRecord>>;

    /// The shares of a session, oldest first, those of one millisecond in the order they were stored. They go with the
    /// session.
    fn shares(&self, key: &SessionKey) -> LogTicket<Vec<ShareRecord>>;
}
