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
