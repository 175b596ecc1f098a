//! What the other instances of a store did.

use std::sync::Arc;

use crate::{SessionHead, SessionKey};

/// A change of a session that another instance of the store made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemoteChange {
    /// A session was created: it is new, or the name was used before and its log is another incarnation.
    Created {
        /// The session.
        key: SessionKey,
        /// The head of its log.
        head: SessionHead,
    },
    /// Events were appended: the log is readable up to this head.
    Appended {
        /// The session.
        key: SessionKey,
        /// The head that was committed.
        head: SessionHead,
    },
    /// A session was deleted.
    Deleted {
        /// The session.
        key: SessionKey,
        /// Which of the sessions of this name it was.
        incarnation: u32,
    },
}

impl RemoteChange {
    /// The session that changed.
    pub const fn key(&self) -> &SessionKey {
        match self {
            Self::Created { key, .. } | Self::Appended { key, .. } | Self::Deleted { key, .. } => key,
        }
    }
}

/// Called with the changes of other instances, in order. It must not block and must not call the log.
pub type RemoteListener = Arc<dyn Fn(&[RemoteChange]) + Send + Sync>;
