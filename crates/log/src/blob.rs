//! Blobs, snapshots and sealed turns: bytes beside the log.

use std::fmt;

use bytes::Bytes;
use riverrun_event::{Sequence, SessionId, TaskId, TurnId};
use sha2::{Digest, Sha256};

/// `blob_` and 64 lower-case hex digits: the SHA-256 of the contents. Never a path.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlobId([u8; 32]);

impl BlobId {
    /// The name of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The name for a SHA-256 digest.
    pub const fn from_digest(digest: [u8; 32]) -> Self {
        Self(digest)
    }

    /// The SHA-256 digest.
    pub const fn digest(&self) -> &[u8; 32] {
        &self.0
    }

    /// None unless the text has exactly the form of a reference.
    pub fn parse(text: &str) -> Option<Self> {
        let hex = text.strip_prefix("blob_")?.as_bytes();
        if hex.len() != 64 {
            return None;
        }
        let mut digest = [0; 32];
        for (byte, pair) in digest.iter_mut().zip(hex.chunks_exact(2)) {
            *byte = hex_digit(pair[0])? << 4 | hex_digit(pair[1])?;
        }
        Some(Self(digest))
    }
}

const fn hex_digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

impl fmt::Display for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("blob_")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A blob to store. With a session it lives as long as the sessions that refer to it; without one, for ever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewBlob {
    /// The session that stores it.
    pub session: Option<SessionId>,
    /// Its media type, as `text/plain; charset=utf-8`.
    pub media_type: String,
    /// Its content.
    pub bytes: Bytes,
}

/// What is known of a blob without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobInfo {
    /// Its name.
    pub reference: BlobId,
    /// That of the first put.
    pub media_type: String,
    /// Its bytes.
    pub size: u64,
}

/// A blob with its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobContent {
    /// What is known of it.
    pub info: BlobInfo,
    /// Its content.
    pub bytes: Bytes,
}

/// A stored state. The bytes are opaque to the log; it guards them with a hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The last event in the state.
    pub sequence: Sequence,
    /// The state as JSON.
    pub bytes: Bytes,
}

/// The newest sound snapshot at or before a place, and what was wrong with newer ones.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SnapshotFound {
    /// The nearest snapshot, if there is one.
    pub snapshot: Option<Snapshot>,
    /// Each names a snapshot that failed its hash and was passed over.
    pub problems: Vec<String>,
}

/// A finished turn, stored once. The bytes are opaque to the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedTurnRecord {
    /// The turn.
    pub turn: TurnId,
    /// Its root task.
    pub task: TaskId,
    /// Its first event.
    pub first: Sequence,
    /// Its last event.
    pub last: Sequence,
    /// The turn as JSON.
    pub bytes: Bytes,
}
