//! Who wrote an event into the log.

/// Stored with each record by the server that appended it. It is not on the wire, and nothing that a producer sends
/// can set it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Author {
    /// The event did not come from a log of this version: it is from the wire, or an older version stored it.
    #[default]
    Unknown,
    /// A key without the scope `approve`, or the server on behalf of such a key.
    Writer,
    /// A key with the scope `approve`.
    Approver,
    /// The server's own runner.
    Runner,
    /// Copied from a file or from another session.
    Copied,
}

impl Author {
    const ALL: [Author; 5] =
        [Author::Unknown, Author::Writer, Author::Approver, Author::Runner, Author::Copied];

    /// The number in a record's flags. Stored in logs: a number never changes its meaning.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Author::Unknown => 0,
            Author::Writer => 1,
            Author::Approver => 2,
            Author::Runner => 3,
            Author::Copied => 4,
        }
    }

    pub(crate) fn of_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|author| author.code() == code)
    }

    /// True if the runner may act on anything that the event says.
    pub const fn is_runner(self) -> bool {
        matches!(self, Author::Runner)
    }

    /// True if the runner may act on the event as a decision.
    pub const fn may_decide(self) -> bool {
        matches!(self, Author::Runner | Author::Approver)
    }

    /// True for events that a producer appended to this session.
    pub const fn is_producer(self) -> bool {
        matches!(self, Author::Writer | Author::Approver)
    }
}
