//! Durable commands and stored answers: what makes a request safe to send twice.

use bytes::Bytes;
use riverrun_event::{CommandId, TenantId};

use crate::{SessionKey, Timestamp};

/// SHA-256 of a request, so that a key that is used again with another body is noticed.
pub type Digest = [u8; 32];

/// What somebody asked a session to do. The body is opaque to the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCommand {
    pub id: CommandId,
    pub key: SessionKey,
    /// Unique in the session: the same key again answers the first command.
    pub idempotency_key: String,
    pub digest: Digest,
    pub body: Bytes,
    pub created_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// Commands of a log in the order they were enqueued.
    pub number: u64,
    pub request: NewCommand,
    pub state: CommandState,
}

/// ```text
/// Pending ──claim──▶ Claimed ──complete──▶ Done
///    └───────────────complete─────────────────▲
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandState {
    Pending,
    /// Its effects have begun to be appended. It still counts as pending: an owner that takes over goes on with it.
    Claimed,
    Done {
        outcome: Bytes,
    },
}

/// The answer to an enqueue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enqueued {
    pub command: Command,
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
    Complete { id: CommandId, outcome: Bytes },
}

/// The stored answer to a request that carried an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyRecord {
    pub tenant: TenantId,
    /// The key, made unique by its caller (route and key).
    pub scope: String,
    pub digest: Digest,
    pub response: Bytes,
    pub created_at: Timestamp,
    /// After this time the engine may forget it.
    pub expires_at: Timestamp,
}

/// The answer to storing one: the first record with this scope wins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remembered {
    pub record: IdempotencyRecord,
    pub new: bool,
}
