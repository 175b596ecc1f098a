use riverrun_event::{IdOrigin, ProducerId, Sequence};

use crate::{
    Append, Chunk, DurableAppend, LogTicket, ProducerState, Sealed, SessionHead, SessionKey, UnixMillis,
};

/// The events of sessions: one log each, in chunks.
///
/// ```text
///  owner ── append(epoch, chunk first..=last, facts…) ──▶ queue ──▶ one commit group ──▶ durable
///                                                                                         │ in commit order:
///      a session's log                                                                    │ 1. readable
///      [ 1  2  3 | 4 | 5  6  7 | 8  9 ]                                                   │ 2. listener
///       retired^       chunks         ^ head.last; the next chunk begins at last + 1      ▼ 3. tickets
/// ```
///
/// - **Durable before visible.** No read, listener or ticket shows a chunk before a crash could no longer undo it.
/// - **Dense.** A session's sequences are 1, 2, 3, …; every event has one sequence for ever, with the same bytes.
/// - **One owner.** An append whose epoch is not the shard's newest answers `Fenced`, from the moment `acquire` of
///   the newer one has resolved. Time plays no part in it.
/// - **Compare and append.** A chunk is taken only if it begins at `head.last + 1` and names `head.link` as previous.
///   Of any number of racers with the same first sequence exactly one wins. The very same chunk again (the same
///   bytes at the same sequence) answers as the first time with `duplicate: true`. Other bytes answer `Conflict`.
/// - **All or nothing.** Chunk, stamp, facts, commands and idempotency records of an append commit together.
/// - **Ordered.** Appends handed over by one thread commit in that order. If one fails, those built on it answer
///   `Conflict`.
/// - **Decidable.** An append that answers `OutcomeUnknown`, because the connection to the store broke during its
///   commit, is stored as a whole or not at all. The same append again tells which: it is answered as a duplicate, or
///   stored now, or answers `Conflict` because another one was stored in its place. Embedded engines never answer it.
/// - **Fails closed.** After a failed write or sync every append answers `Failed` and nothing is tried again; a full
///   disk answers `Full` and heals by itself. A damaged chunk is reported (`Corrupt`, `verify`), never skipped,
///   repaired by guess, or shown. Other sessions are not touched by it.
pub trait EventStore: Send + Sync {
    /// Appends. Errors: `NoSession`, `Fenced`, `Conflict`, `SequenceExhausted`, `Producer…`, `CommandExists`,
    /// `NotFound` and `Immutable` (commands), `IdempotencyExists`, `Full`, `Failed`, `OutcomeUnknown`.
    fn append(&self, append: Append) -> LogTicket<DurableAppend>;

    /// The committed chunks behind `after`, in order, as they were appended, until `max_bytes` are reached.
    ///
    /// ```text
    /// [ 4  5  6 | 7 ]    after = 4: the chunk 4..=6 comes whole; skip what is not behind `after`
    /// ```
    ///
    /// At least one chunk comes if any is there, however large. Empty: `after` is the head or beyond it.
    /// `Retired` if `after + 1` is before `first_available`. `Corrupt` if the first chunk is damaged; a damaged one
    /// further on ends the answer before it, and the next read reports it.
    fn read(&self, key: &SessionKey, after: Sequence, max_bytes: usize) -> LogTicket<Vec<Chunk>>;

    /// The committed head; None if absent or deleted.
    fn head(&self, key: &SessionKey) -> LogTicket<Option<SessionHead>>;

    /// How the events of this session got their ids before the log was restored, in ascending order: a restored copy
    /// of an event keeps its id, and what is appended afterwards gets ids of the new incarnation. Empty for a log that
    /// was never restored, and for an absent session.
    fn id_origins(&self, key: &SessionKey) -> LogTicket<Vec<IdOrigin>>;

    /// The newest stamp that this producer left in this session.
    fn producer(&self, key: &SessionKey, producer: &ProducerId) -> LogTicket<Option<ProducerState>>;

    /// Packs the chunks up to `through` densely. Reads answer the same chunks as before, byte for byte.
    fn seal(&self, key: &SessionKey, through: Sequence) -> LogTicket<Sealed>;

    /// Drops whole chunks whose last event is at or before `through` and, if given, whose base time is before
    /// `older_than`. Of a session that is not finished nothing is dropped: one with an open turn, an open action or a
    /// pending command. Answers the first event that can still be read.
    fn retire(
        &self,
        key: &SessionKey,
        through: Sequence,
        older_than: Option<UnixMillis>,
    ) -> LogTicket<Sequence>;
}
