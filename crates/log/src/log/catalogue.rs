use riverrun_event::{ActionId, Sequence, ShareId, TaskId, TenantId, TurnId};

use crate::{
    ActionQuery, ActionRecord, Created, NewSession, Page, SessionKey, SessionQuery, SessionRecord, Share,
    TaskRecord, Ticket, Timestamp, TurnRecord, WorkScope,
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
    fn create_session(&self, key: &SessionKey, new: NewSession) -> Ticket<Created>;

    /// The catalogue entry with the committed head; None if absent or deleted.
    fn session(&self, key: &SessionKey) -> Ticket<Option<SessionRecord>>;

    /// One page of sessions.
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

    /// An action, also after its decision; None if it never existed.
    fn action(&self, key: &SessionKey, action: &ActionId) -> Ticket<Option<ActionRecord>>;

    /// One page of actions that wait.
    fn pending_actions(&self, query: ActionQuery) -> Ticket<Page<ActionRecord>>;

    /// A turn; None if it never existed.
    fn turn(&self, key: &SessionKey, turn: &TurnId) -> Ticket<Option<TurnRecord>>;

    /// The turns of a session that began before `before`, or all without it: newest first, at most `most`.
    fn turns(&self, key: &SessionKey, before: Option<Sequence>, most: usize) -> Ticket<Vec<TurnRecord>>;

    /// Every turn of a shard or a session without a terminal event, in order of session and first event: what a new
    /// owner must close or continue.
    fn open_turns(&self, scope: WorkScope) -> Ticket<Vec<TurnRecord>>;

    /// The sessions of this tenant that hold such a turn, oldest first, at most ten: a fork has copies of the turns
    /// of the session that it came from, and the original comes before them.
    fn find_turn(&self, tenant: &TenantId, turn: &TurnId) -> Ticket<Vec<TurnRecord>>;

    /// The sessions of this tenant that hold such a task, newest first, at most ten.
    fn find_task(&self, tenant: &TenantId, task: &TaskId) -> Ticket<Vec<TaskRecord>>;

    /// Stores a share, replacing one with the same id. `NoSession` if its session is absent.
    fn put_share(&self, share: Share) -> Ticket<()>;

    /// A share link; None if it never existed.
    fn share(&self, id: &ShareId) -> Ticket<Option<Share>>;

    /// The shares of a session, oldest first, those of one millisecond in the order they were stored. They go with the session.
    fn shares(&self, key: &SessionKey) -> Ticket<Vec<Share>>;
}
