//! Links by which anybody who has them may read a session up to a moment.

use riverrun_event::{Sequence, ShareId};

use crate::{SessionKey, Timestamp};

/// A share as stored. Its id is the secret of the link, and random.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    pub id: ShareId,
    pub key: SessionKey,
    pub title: String,
    /// The last event that its readers see.
    pub through: Sequence,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
}

impl Share {
    /// True if its link may be followed.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && now < self.expires_at
    }
}
