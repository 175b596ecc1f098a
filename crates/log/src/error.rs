//! What a call on a log can answer instead of a result.

use riverrun_event::{CommandId, ErrorCode, OwnerId, ProducerId, Sequence, SessionId};

use crate::{Epoch, ProducerState, Timestamp};

/// Why a call on a log failed. [`Error::has_no_side_effects`] says after which of them nothing was stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("session `{0}` not found")]
    NoSession(SessionId),
    #[error("{kind} `{id}` not found")]
    NotFound { kind: &'static str, id: String },
    #[error("append with epoch {used} refused, the shard is at epoch {current}")]
    Fenced { used: Epoch, current: Epoch },
    #[error("the lease is held by `{owner}` until {expires}")]
    LeaseHeld { owner: OwnerId, expires: Timestamp },
    #[error("append at {first} does not follow the head {head}")]
    Conflict { first: Sequence, head: Sequence },
    #[error("the log of session `{0}` is full")]
    SequenceExhausted(SessionId),
    #[error("producer `{producer}` appends with epoch {used}, epoch {current} exists")]
    ProducerStale { producer: ProducerId, used: u64, current: u64 },
    #[error("producer `{producer}` appends sequence {found}, {expected} is next")]
    ProducerGap { producer: ProducerId, found: u64, expected: u64 },
    /// The stamp was stored before, with another chunk. `last` is the newest stamp of the producer.
    #[error("producer `{producer}` used sequence {sequence} before")]
    ProducerDuplicate { producer: ProducerId, sequence: u64, last: ProducerState },
    #[error("command `{0}` exists with this idempotency key")]
    CommandExists(CommandId),
    #[error("a request with idempotency scope `{0}` was answered before")]
    IdempotencyExists(String),
    #[error("the events before {first_available} were retired")]
    Retired { first_available: Sequence },
    #[error("events {first} to {last} of session `{session}` are corrupt: {what}")]
    Corrupt { session: SessionId, first: Sequence, last: Sequence, what: String },
    #[error("{kind} `{id}` exists with other contents")]
    Immutable { kind: &'static str, id: String },
    #[error("invalid {what}")]
    Invalid { what: String },
    /// The tenant has used up what it may store. Deleting sessions or blobs makes room.
    #[error("the tenant's quota `{quota}` is used up: {used} of {limit}")]
    Quota { quota: &'static str, limit: u64, used: u64 },
    /// Nothing was stored. The engine takes appends again by itself when space is freed.
    #[error("the disk is full")]
    Full,
    /// The engine is poisoned: this and every later append is refused until the store is opened again.
    #[error("the store failed: {0}")]
    Failed(String),
    /// The connection to the store broke while this append was being committed: it is stored as a whole or not at all.
    /// The same append again decides: it is a duplicate, is stored now, or answers [`Error::Conflict`].
    #[error("whether the append was stored is not known: {0}")]
    OutcomeUnknown(String),
    #[error("the log is closed")]
    Closed,
}

impl Error {
    pub const fn code(&self) -> ErrorCode {
        match self {
            Error::NoSession(_) | Error::NotFound { .. } => ErrorCode::NotFound,
            Error::Fenced { .. } | Error::LeaseHeld { .. } | Error::Conflict { .. } => ErrorCode::NotOwner,
            Error::SequenceExhausted(_) => ErrorCode::SequenceExhausted,
            Error::ProducerStale { .. } => ErrorCode::ProducerStale,
            Error::ProducerGap { .. } => ErrorCode::ProducerGap,
            Error::ProducerDuplicate { .. } | Error::CommandExists(_) => ErrorCode::IdempotencyMismatch,
            Error::IdempotencyExists(_) => ErrorCode::IdempotencyInFlight,
            Error::Retired { .. } => ErrorCode::Expired,
            Error::Corrupt { .. } => ErrorCode::LogCorrupt,
            Error::Immutable { .. } => ErrorCode::SessionExists,
            Error::Invalid { .. } => ErrorCode::InvalidRequest,
            Error::Quota { .. } => ErrorCode::QuotaExceeded,
            Error::Full => ErrorCode::StorageFull,
            Error::Failed(_) | Error::OutcomeUnknown(_) => ErrorCode::StorageFailed,
            Error::Closed => ErrorCode::Draining,
        }
    }

    /// True if the same call may succeed later, unchanged. After [`Error::OutcomeUnknown`] it must be the same append,
    /// byte for byte.
    pub const fn is_retryable(&self) -> bool {
        self.code().is_retryable()
    }

    /// True if nothing was stored.
    pub const fn has_no_side_effects(&self) -> bool {
        !matches!(self, Error::Failed(_) | Error::OutcomeUnknown(_) | Error::Closed)
    }
}
