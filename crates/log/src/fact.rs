//! The catalogue: what can be asked about sessions without reading their logs.
//!
//! Facts travel with the append that makes them true. Bodies are opaque bytes to the log.

use bytes::Bytes;
use riverrun_event::{ActionId, Sequence, SessionId, TaskId, TenantId, ThreadId, TurnId};

use crate::{BlobRef, PageRequest, SessionKey, Timestamp};

/// One change of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fact {
    Session(SessionChange),
    /// The newest word on a turn or an action. With the other facts of its append it says how the session stands.
    Told(Told),
    /// The task is halted, or goes on. If it is the outermost of a turn at work, the turn is too, and the session's
    /// standing is weighed anew.
    Halted {
        task: TaskId,
        halted: bool,
    },
    ActionOpened(NewAction),
    /// Resolving an action that is resolved or absent changes nothing.
    ActionResolved {
        action: ActionId,
        resolution: Bytes,
        resolved_at: Timestamp,
    },
    /// Replaces what is known of the turn, but for its first event.
    Turn(TurnFact),
    /// Says where a task lives. The first word on a task of a session stays.
    Task(TaskFact),
    /// The session refers to this blob, which therefore lives as long as the session.
    Blob(BlobRef),
}

/// A change of a session's catalogue entry: None keeps what is there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionChange {
    pub status: Option<String>,
    pub title: Option<String>,
    pub agent: Option<String>,
    pub tags: Option<Vec<String>>,
    pub metadata: Option<String>,
}

/// What an event says of its session, without the rest of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    pub status: String,
    /// Terminal if it is the end of a turn.
    pub progress: Progress,
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
pub const HALTED: &str = "paused";

impl OpenWork {
    /// The session's status: as it was told, unless somebody must decide, another turn is at work, or what is halted
    /// is all that is left. The fold weighs the same.
    pub fn weigh(self, told: &Told) -> &str {
        if self.waits {
            return "waiting_permission";
        }
        match (self.works, self.is_halted, told.progress) {
            (true, true, _) | (true, false, Progress::Terminal) => AT_WORK,
            (false, true, _) => HALTED,
            (true, false, Progress::Open) | (false, false, _) => &told.status,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAction {
    pub action: ActionId,
    pub turn: Option<TurnId>,
    pub task: Option<TaskId>,
    /// The event that opened it.
    pub sequence: Sequence,
    pub body: Bytes,
    pub opened_at: Timestamp,
    pub expires_at: Option<Timestamp>,
}

/// An action in the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionRecord {
    pub key: SessionKey,
    pub opened: NewAction,
    pub resolution: Option<Resolution>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolution {
    pub body: Bytes,
    pub resolved_at: Timestamp,
}

/// Which unresolved actions of a tenant, oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionQuery {
    pub tenant: TenantId,
    pub session: Option<SessionId>,
    pub page: PageRequest,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnFact {
    pub turn: TurnId,
    pub thread: ThreadId,
    pub status: String,
    pub progress: Progress,
    /// The turn's first event.
    pub first: Sequence,
}

/// Whether a terminal event came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    Open,
    Terminal,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnRecord {
    pub key: SessionKey,
    pub fact: TurnFact,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskFact {
    pub task: TaskId,
    pub turn: TurnId,
    pub parent: Option<TaskId>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRecord {
    pub key: SessionKey,
    pub fact: TaskFact,
}
