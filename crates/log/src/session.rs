//! Sessions: their keys, their heads, their places in the catalogue.

use riverrun_event::{Sequence, SessionId, TenantId};

use crate::{Chunk, ChunkBuilder, Link, UnixMillis};

/// Deletions of sessions that an engine remembers at most; the oldest go first.
pub const MOST_DELETIONS: usize = 1_000_000;

/// Names a session. The tenant is part of the key, so no lookup can cross tenants.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionKey {
    /// The tenant that owns the session.
    pub tenant: TenantId,
    /// The session; its id is unique within the tenant.
    pub session: SessionId,
}

impl SessionKey {
    /// The key of a tenant's session.
    pub const fn new(tenant: TenantId, session: SessionId) -> Self {
        Self { tenant, session }
    }
}

/// Where a session's log ends, which is all its owner needs to build the next chunk.
///
/// ```text
/// [ 1  2  3 | 4  5  6 ]
///   retired^         ^ last, link = that of the chunk that ends here
///            ^ first_available
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionHead {
    /// The last committed event, ZERO in an empty log.
    pub last: Sequence,
    /// The hash of the last chunk, which the next one names.
    pub link: Link,
    /// The first event that can still be read; `last + 1` if all were retired or none came.
    pub first_available: Sequence,
    /// Differs after the session was deleted and made again, and after the log was restored from a backup.
    /// A cursor of another incarnation points into another history.
    pub incarnation: u32,
}

impl SessionHead {
    /// Begins the chunk that follows. None if the log is exhausted.
    pub fn next_chunk(&self, time: UnixMillis) -> Option<ChunkBuilder> {
        Some(ChunkBuilder::new(self.last.next()?, self.link, time))
    }

    /// The same, with room for so many bytes of records.
    pub fn next_chunk_with_room(&self, time: UnixMillis, room: usize) -> Option<ChunkBuilder> {
        Some(ChunkBuilder::with_room(self.last.next()?, self.link, time, room))
    }

    /// The head after `chunk` is committed. An owner that pipelines appends moves its own copy on.
    pub fn advance(&mut self, chunk: &Chunk) {
        self.last = chunk.last();
        self.link = chunk.link();
    }
}

/// The input of creating a session. Texts are opaque to the log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionSpec {
    /// A name for people.
    pub title: Option<String>,
    /// The agent that acts first.
    pub agent: Option<String>,
    /// The status before the first event.
    pub status: String,
    /// Words to search by.
    pub tags: Vec<String>,
    /// A JSON object as text.
    pub metadata: Option<String>,
    /// When it was made.
    pub created_at: UnixMillis,
    /// The log begins behind this place: ZERO but for an imported part of a log, whose earlier events count as
    /// retired.
    pub start_after: Sequence,
}

/// The answer to a create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Created {
    /// The session that is there now.
    pub record: SessionRecord,
    /// False if the session was there before; then nothing was changed.
    pub new: bool,
}

/// A session in the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRecord {
    /// Its key.
    pub key: SessionKey,
    /// A name for people.
    pub title: Option<String>,
    /// The agent that acts.
    pub agent: Option<String>,
    /// Its status.
    pub status: String,
    /// Sorted, without repeats.
    pub tags: Vec<String>,
    /// The metadata of its owner, as JSON.
    pub metadata: Option<String>,
    /// When it was made.
    pub created_at: UnixMillis,
    /// The base time of the last chunk, or the creation.
    pub updated_at: UnixMillis,
    /// The end of its log.
    pub head: SessionHead,
}

/// Which sessions of a tenant. All conditions hold together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionQuery {
    /// The tenant.
    pub tenant: TenantId,
    /// Only sessions with this status.
    pub status: Option<String>,
    /// Only sessions with this tag.
    pub tag: Option<String>,
    /// Inclusive.
    pub updated_from: Option<UnixMillis>,
    /// Exclusive.
    pub updated_before: Option<UnixMillis>,
    /// Which page.
    pub page: PageRequest,
}

impl SessionQuery {
    /// All sessions of a tenant, from the first page on.
    pub fn all(tenant: TenantId) -> Self {
        let page = PageRequest::default();
        Self { tenant, status: None, tag: None, updated_from: None, updated_before: None, page }
    }
}

/// Which part of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRequest {
    /// The `next` of an earlier page; None for the first. Text that is no cursor of ours answers `Invalid`.
    pub cursor: Option<String>,
    /// Most items of the page.
    pub limit: usize,
}

impl Default for PageRequest {
    fn default() -> Self {
        Self { cursor: None, limit: 100 }
    }
}

/// Part of a listing, newest made first. That order never changes, so paging neither skips nor repeats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListPage<T> {
    /// The items.
    pub items: Vec<T>,
    /// The cursor of the next page; None on the last.
    pub next: Option<String>,
}
