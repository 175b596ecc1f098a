//! Durable commands and stored answers: what makes a request safe to send twice.

use bytes::Bytes;
use riverrun_event::{CommandId, TenantId};

use crate::{SessionKey, UnixMillis};

/// SHA-256 of a request, so that a key that is used again with another body is noticed.
pub type Digest = [u8; 32];

/// What somebody asked a session to do. The body is opaque to the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCommand {
    /// Its id.
    pub id: CommandId,
    /// The session that it is for.
    pub key: SessionKey,
    /// Unique in the session: the same key again answers the first command.
    pub idempotency_key: String,
    /// Of the request, to tell a repeat from another request with the same key.
    pub digest: Digest,
    /// The command itself; opaque here.
    pub body: Bytes,
    /// When it came.
    pub created_at: UnixMillis,
}

/// A stored command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCommand {
    /// Commands of a log in the order they were enqueued.
    pub number: u64,
    /// What was asked.
    pub request: NewCommand,
    /// What became of it.
    pub state: CommandState,
}

/// ```text
/// Pending ──claim──▶ Claimed ──complete──▶ Done
///    └───────────────complete─────────────────▲
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandState {
    /// Nobody has completed it.
    Pending,
    /// Its effects have begun to be appended. It still counts as pending: an owner that takes over goes on with it.
    Claimed,
    /// It is complete.
    Done {
        /// The answer; opaque here.
        outcome: Bytes,
    },
}

/// The answer to an enqueue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enqueued {
    /// The command that is stored.
    pub command: StoredCommand,
    /// False if the idempotency key was used before; compare the digest.
    pub new: bool,
}

/// What an append does to commands of its session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandChange {
    /// Enqueues with the append. The whole append answers `CommandExists` if the idempotency key was used before.
    Enqueue(NewCommand),
    /// Refused with `NotFound` if the command is absent (one that this append enqueues before is not), and with
    /// `Immutable` if it is done.
    Claim(CommandId),
    /// As for claim.
    Complete {
        /// The command.
        id: CommandId,
        /// The answer; opaque here.
        outcome: Bytes,
    },
}

/// The stored answer to a request that carried an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyRecord {
    /// The tenant.
    pub tenant: TenantId,
    /// The key, made unique by its caller (route and key).
    pub scope: String,
    /// Of the request, to tell a repeat from another request with the same key.
    pub digest: Digest,
    /// The answer; opaque here.
    pub response: Bytes,
    /// When the request was answered.
    pub created_at: UnixMillis,
    /// After this time the engine may forget it.
    pub expires_at: UnixMillis,
}

/// The answer to storing one: the first record with this scope wins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remembered {
    /// The record that is stored.
    pub record: IdempotencyRecord,
    /// False if it was stored before.
    pub new: bool,
}
