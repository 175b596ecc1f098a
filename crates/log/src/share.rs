//! Links by which anybody who has them may read a session up to a moment.

use riverrun_event::{Sequence, ShareId};

use crate::{SessionKey, UnixMillis};

/// A share as stored. Its id is the secret of the link, and random.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShareRecord {
    /// Its id, which is the secret of the link.
    pub id: ShareId,
    /// The session that it shows.
    pub key: SessionKey,
    /// A name for people.
    pub title: String,
    /// The last event that its readers see.
    pub through: Sequence,
    /// When it was made.
    pub created_at: UnixMillis,
    /// When it expires.
    pub expires_at: UnixMillis,
    /// When it was revoked, if it was.
    pub revoked_at: Option<UnixMillis>,
}

impl ShareRecord {
    /// True if its link may be followed.
    pub fn is_live(&self, now: UnixMillis) -> bool {
        self.revoked_at.is_none() && now < self.expires_at
    }
}
