//! The catalogue: what can be asked about sessions without reading their logs.
//!
//! Facts travel with the append that makes them true. Bodies are opaque bytes to the log.

use bytes::Bytes;
use riverrun_event::{ActionId, Sequence, SessionId, TaskId, TenantId, ThreadId, TurnId};

use crate::{BlobId, PageRequest, SessionKey, UnixMillis};

/// One change of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fact {
    /// The catalogue's entry of the session changes.
    Session(SessionChange),
    /// The newest status of a turn or an action. Together with the open work it decides the session's status.
    Status(StatusUpdate),
    /// The task is halted, or goes on. If it is the outermost of a turn at work, the turn is too, and the session's
    /// standing is weighed anew.
    Halted {
        /// The task.
        task: TaskId,
        /// False if it goes on.
        halted: bool,
    },
    /// Somebody must decide something.
    ActionOpened(NewAction),
    /// Resolving an action that is resolved or absent changes nothing.
    ActionResolved {
        /// The action.
        action: ActionId,
        /// The decision; opaque here.
        resolution: Bytes,
        /// When it was decided.
        resolved_at: UnixMillis,
    },
    /// Replaces what is known of the turn, but for its first event.
    Turn(TurnFact),
    /// Says where a task lives. The first word on a task of a session stays.
    Task(TaskFact),
    /// The session refers to this blob, which therefore lives as long as the session.
    Blob(BlobId),
}

/// A change of a session's catalogue entry: None keeps what is there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionChange {
    /// The next status.
    pub status: Option<String>,
    /// The next title.
    pub title: Option<String>,
    /// The next agent.
    pub agent: Option<String>,
    /// The next tags, all of them.
    pub tags: Option<Vec<String>>,
    /// The next metadata as JSON.
    pub metadata: Option<String>,
}

/// The status that one event gives its session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusUpdate {
    /// The status that the event names.
    pub status: String,
    /// Terminal if it is the end of a turn.
    pub progress: WorkProgress,
}

/// What is open in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OpenWork {
    /// An action waits for a decision in a turn that is not halted, or in none.
    pub waits: bool,
    /// A turn is at work and not halted.
    pub works: bool,
    /// A turn is halted.
    pub is_halted: bool,
}

/// A turn that is at work, and one that is halted, in the catalogue's words.
pub const AT_WORK: &str = "running";
/// A turn that is halted, in the catalogue's words.
pub const HALTED: &str = "paused";

impl OpenWork {
    /// The session's status: as it was told, unless somebody must decide, another turn is at work, or what is halted
    /// is all that is left. The fold weighs the same.
    pub fn weigh(self, update: &StatusUpdate) -> &str {
        if self.waits {
            return "waiting_permission";
        }
        match (self.works, self.is_halted, update.progress) {
            (true, true, _) | (true, false, WorkProgress::Terminal) => AT_WORK,
            (false, true, _) => HALTED,
            (true, false, WorkProgress::Open) | (false, false, _) => &update.status,
        }
    }
}

/// An action that waits for a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAction {
    /// Its id.
    pub action: ActionId,
    /// The turn that waits, if one does.
    pub turn: Option<TurnId>,
    /// The task that waits, if one does.
    pub task: Option<TaskId>,
    /// The event that opened it.
    pub sequence: Sequence,
    /// The request; opaque here.
    pub body: Bytes,
    /// When it was required.
    pub opened_at: UnixMillis,
    /// When nobody can decide it any more.
    pub expires_at: Option<UnixMillis>,
}

/// An action in the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionRecord {
    /// The session.
    pub key: SessionKey,
    /// What was required.
    pub opened: NewAction,
    /// What was decided; None while it waits.
    pub resolution: Option<Resolution>,
}

/// The decision of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolution {
    /// The decision; opaque here.
    pub body: Bytes,
    /// When it was decided.
    pub resolved_at: UnixMillis,
}

/// Which unresolved actions of a tenant, oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionQuery {
    /// The tenant.
    pub tenant: TenantId,
    /// One session; None for all sessions of the tenant.
    pub session: Option<SessionId>,
    /// Which page.
    pub page: PageRequest,
}

/// How a turn goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnFact {
    /// The turn.
    pub turn: TurnId,
    /// Its thread.
    pub thread: ThreadId,
    /// Its status.
    pub status: String,
    /// Whether it has ended.
    pub progress: WorkProgress,
    /// The turn's first event.
    pub first: Sequence,
}

/// Whether a terminal event came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkProgress {
    /// It has not ended.
    Open,
    /// It has ended, and never changes again.
    Terminal,
}

/// A turn in the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnRecord {
    /// Its session.
    pub key: SessionKey,
    /// How it goes.
    pub fact: TurnFact,
}

/// Where a task belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskFact {
    /// The task.
    pub task: TaskId,
    /// Its turn.
    pub turn: TurnId,
    /// The task that called it.
    pub parent: Option<TaskId>,
}

/// A task in the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRecord {
    /// Its session.
    pub key: SessionKey,
    /// Where it belongs.
    pub fact: TaskFact,
}
