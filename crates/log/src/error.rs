//! What a call on a log can answer instead of a result.

use riverrun_event::{CommandId, ErrorCode, OwnerId, ProducerId, Sequence, SessionId};

use crate::{Epoch, ProducerState, UnixMillis};

/// Why a call on a log failed. [`LogError::has_no_side_effects`] says after which of them nothing was stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// There is no session with this key.
    #[error("session `{0}` not found")]
    NoSession(SessionId),
    /// What the call is about does not exist.
    #[error("{kind} `{id}` not found")]
    NotFound {
        /// What it is, as `turn`.
        kind: &'static str,
        /// Its id.
        id: String,
    },
    /// Another owner has the shard.
    #[error("append with epoch {used} refused, the shard is at epoch {current}")]
    Fenced {
        /// The epoch of the append.
        used: Epoch,
        /// The epoch of the shard.
        current: Epoch,
    },
    /// Another owner holds the lease.
    #[error("the lease is held by `{owner}` until {expires}")]
    LeaseHeld {
        /// The owner that holds it.
        owner: OwnerId,
        /// When it expires unless it is renewed.
        expires: UnixMillis,
    },
    /// The chunk does not begin behind the head.
    #[error("append at {first} does not follow the head {head}")]
    Conflict {
        /// The first event of the chunk.
        first: Sequence,
        /// The last event of the log.
        head: Sequence,
    },
    /// The log has as many events as sequences can number.
    #[error("the log of session `{0}` is full")]
    SequenceExhausted(SessionId),
    /// The producer has started anew since.
    #[error("producer `{producer}` appends with epoch {used}, epoch {current} exists")]
    ProducerStale {
        /// The producer.
        producer: ProducerId,
        /// The epoch of the append.
        used: u64,
        /// The newest epoch of the producer.
        current: u64,
    },
    /// An append of the producer is missing before this one.
    #[error("producer `{producer}` appends sequence {found}, {expected} is next")]
    ProducerGap {
        /// The producer.
        producer: ProducerId,
        /// The number of the append.
        found: u64,
        /// The number that is next.
        expected: u64,
    },
    /// The stamp was stored before, with another chunk. `last` is the newest stamp of the producer.
    #[error("producer `{producer}` used sequence {sequence} before")]
    ProducerDuplicate {
        /// The producer.
        producer: ProducerId,
        /// The number of the append.
        sequence: u64,
        /// The newest stamp of the producer.
        last: ProducerState,
    },
    /// A command with this id exists.
    #[error("command `{0}` exists with this idempotency key")]
    CommandExists(CommandId),
    /// A request with this idempotency key was answered before.
    #[error("a request with idempotency scope `{0}` was answered before")]
    IdempotencyExists(String),
    /// The events were deleted.
    #[error("the events before {first_available} were retired")]
    Retired {
        /// The first event that is still there.
        first_available: Sequence,
    },
    /// Stored events are damaged.
    #[error("events {first} to {last} of session `{session}` are corrupt: {what}")]
    Corrupt {
        /// The session.
        session: SessionId,
        /// The first event that cannot be read.
        first: Sequence,
        /// The last event that cannot be read.
        last: Sequence,
        /// What is wrong with the bytes.
        what: String,
    },
    /// It exists with other contents and cannot be replaced.
    #[error("{kind} `{id}` exists with other contents")]
    Immutable {
        /// What it is, as `blob`.
        kind: &'static str,
        /// Its id.
        id: String,
    },
    /// An argument of the call is invalid.
    #[error("invalid {what}")]
    Invalid {
        /// What is invalid, and why.
        what: String,
    },
    /// The tenant has used up what it may store. Deleting sessions or blobs makes room.
    #[error("the tenant's quota `{quota}` is used up: {used} of {limit}")]
    Quota {
        /// The name of the quota.
        quota: &'static str,
        /// The most that the tenant may store.
        limit: u64,
        /// What it stores.
        used: u64,
    },
    /// Nothing was stored. The engine takes appends again by itself when space is freed.
    #[error("the disk is full")]
    Full,
    /// The engine is poisoned: this and every later append is refused until the store is opened again.
    #[error("the store failed: {0}")]
    Failed(String),
    /// The connection to the store broke while this append was being committed: it is stored as a whole or not at all.
    /// The same append again decides: it is a duplicate, is stored now, or answers [`LogError::Conflict`].
    #[error("whether the append was stored is not known: {0}")]
    OutcomeUnknown(String),
    /// The engine was closed.
    #[error("the log is closed")]
    Closed,
}

impl LogError {
    /// The stable code of the error.
    pub const fn code(&self) -> ErrorCode {
        match self {
            LogError::NoSession(_) | LogError::NotFound { .. } => ErrorCode::NotFound,
            LogError::Fenced { .. } | LogError::LeaseHeld { .. } | LogError::Conflict { .. } => {
                ErrorCode::NotOwner
            }
            LogError::SequenceExhausted(_) => ErrorCode::SequenceExhausted,
            LogError::ProducerStale { .. } => ErrorCode::ProducerStale,
            LogError::ProducerGap { .. } => ErrorCode::ProducerGap,
            LogError::ProducerDuplicate { .. } | LogError::CommandExists(_) => ErrorCode::IdempotencyMismatch,
            LogError::IdempotencyExists(_) => ErrorCode::IdempotencyInFlight,
            LogError::Retired { .. } => ErrorCode::Expired,
            LogError::Corrupt { .. } => ErrorCode::LogCorrupt,
            LogError::Immutable { .. } => ErrorCode::SessionExists,
            LogError::Invalid { .. } => ErrorCode::InvalidRequest,
            LogError::Quota { .. } => ErrorCode::QuotaExceeded,
            LogError::Full => ErrorCode::StorageFull,
            LogError::Failed(_) | LogError::OutcomeUnknown(_) => ErrorCode::StorageFailed,
            LogError::Closed => ErrorCode::Draining,
        }
    }

    /// True if the same call may succeed later, unchanged. After [`LogError::OutcomeUnknown`] it must be the same
    /// append, byte for byte.
    pub const fn is_retryable(&self) -> bool {
        self.code().is_retryable()
    }

    /// True if nothing was stored.
    pub const fn has_no_side_effects(&self) -> bool {
        !matches!(self, LogError::Failed(_) | LogError::OutcomeUnknown(_) | LogError::Closed)
    }
}
