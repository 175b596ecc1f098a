//! The life of a followed stream as pure transitions: no clock, no socket, no randomness.
//!
//! ```text
//!              opened            caught up
//! connecting ─────────▶ live ──────────────▶ caught up
//!     │                  │  cut, silence         │
//!     │ refused          ▼                       │        end, or the turn's terminal event
//!     │            reconnecting ◀────────────────┤
//!     ▼                  │ opened ─▶ live        ▼
//!   closed ◀─────────────┴───────────────────  closed
//! ```

use riverrun_event::Sequence;

/// Where a follower stands, as its user sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionState {
    Connecting,
    /// Connected, and behind the head of the log.
    Live,
    /// Connected at the head of the log: events come as they happen.
    CaughtUp,
    /// Attempt number `attempt` (from 1) is next; `last` is the last sequence that was given out.
    Reconnecting {
        attempt: u32,
        last: Option<Sequence>,
    },
    Closed,
}

/// Which numbers the next event may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Each event is the successor of the last.
    Dense,
    /// Events rise, with holes that a filter made.
    Rising,
    /// A dialect's frames have no sequence of ours.
    Opaque,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Input {
    Opened {
        after: Option<Sequence>,
    },
    /// An event, or a coalesced run of events `first..=last`.
    Event {
        first: Sequence,
        last: Sequence,
        terminal: bool,
    },
    /// A frame of a foreign dialect.
    Frame,
    /// `new_log`: the log was restored or made anew, so what was given out is of another history.
    Snapshot {
        at: Sequence,
        new_log: bool,
    },
    /// Everything up to `head` was sent, if the server says so.
    CaughtUp {
        head: Option<Sequence>,
    },
    Heartbeat {
        head: Option<Sequence>,
    },
    Draining,
    End {
        head: Option<Sequence>,
    },
    /// The body ended cleanly.
    BodyEnded,
    /// The connection broke, or was silent for too long.
    Cut,
    Unreachable,
    Refused {
        retryable: bool,
    },
}

/// What the driver must do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Deliver,
    Ignore,
    Gap {
        last: Sequence,
        found: Sequence,
    },
    /// Wait as attempt `attempt` asks, then connect again.
    Reconnect {
        attempt: u32,
    },
    Close,
    Fail,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Machine {
    pub state: ConnectionState,
    /// The last sequence given out; None until the server says where the stream starts.
    pub last: Option<Sequence>,
    order: Order,
    ever_opened: bool,
    /// What the stream was asked for has been seen to its end.
    finished: bool,
    /// A place to resume at is known.
    resumable: bool,
    failures: u32,
    max_attempts: Option<u32>,
}

impl Machine {
    pub fn new(order: Order, max_attempts: Option<u32>) -> Self {
        Self {
            state: ConnectionState::Connecting,
            last: None,
            order,
            ever_opened: false,
            finished: false,
            resumable: order != Order::Opaque,
            failures: 0,
            max_attempts,
        }
    }

    /// A foreign stream gave an id, so it can be resumed.
    pub fn resumable(self) -> Self {
        Self { resumable: true, ..self }
    }

    pub fn step(self, input: Input) -> (Self, Verdict) {
        match input {
            Input::Opened { after } => (self.opened(after), Verdict::Deliver),
            Input::Event { first, last, terminal } => self.event(first, last, terminal),
            Input::Frame => (Self { failures: 0, ..self }, Verdict::Deliver),
            Input::Snapshot { at, new_log } => self.snapshot(at, new_log),
            Input::CaughtUp { head } => {
                self.sent_up_to(head, self.in_state(ConnectionState::CaughtUp), Verdict::Ignore)
            }
            Input::Heartbeat { head } => self.sent_up_to(head, Self { failures: 0, ..self }, Verdict::Ignore),
            Input::Draining => (self, Verdict::Ignore),
            Input::End { head } => self.sent_up_to(head, self.closed(), Verdict::Close),
            Input::BodyEnded if self.finished || self.order == Order::Opaque => {
                (self.closed(), Verdict::Close)
            }
            Input::Cut if self.finished => (self.closed(), Verdict::Close),
            Input::BodyEnded | Input::Cut => self.broken(self.resumable),
            Input::Unreachable => self.broken(self.ever_opened),
            Input::Refused { retryable } => self.broken(retryable),
        }
    }

    fn opened(self, after: Option<Sequence>) -> Self {
        // On a reconnect the follower knows better than the server where it stands.
        let last = self.last.or(after);
        Self { state: ConnectionState::Live, last, ever_opened: true, ..self }
    }

    /// The server says that it sent everything up to `head`. What is missing then was lost on the way.
    fn sent_up_to(self, head: Option<Sequence>, next: Self, verdict: Verdict) -> (Self, Verdict) {
        match (self.order, self.last, head) {
            (Order::Dense, Some(last), Some(head)) if head > last => {
                (self.closed(), Verdict::Gap { last, found: head })
            }
            (Order::Dense | Order::Rising | Order::Opaque, _, _) => (next, verdict),
        }
    }

    fn event(self, first: Sequence, last: Sequence, terminal: bool) -> (Self, Verdict) {
        if let Some(known) = self.last {
            if last <= known {
                return (self, Verdict::Ignore);
            }
            let fits = match self.order {
                Order::Dense => known.next() == Some(first),
                Order::Rising | Order::Opaque => first > known,
            };
            if !fits {
                return (self.closed(), Verdict::Gap { last: known, found: first });
            }
        }
        let finished = self.finished || terminal;
        (Self { last: Some(last), failures: 0, finished, ..self }, Verdict::Deliver)
    }

    fn snapshot(self, at: Sequence, new_log: bool) -> (Self, Verdict) {
        // One of the same log that is older than what was given out would take events back.
        if !new_log && self.last.is_some_and(|last| at < last) {
            return (self, Verdict::Ignore);
        }
        (Self { last: Some(at), failures: 0, ..self }, Verdict::Deliver)
    }

    fn broken(self, may_retry: bool) -> (Self, Verdict) {
        let attempt = self.failures.saturating_add(1);
        if !may_retry || self.max_attempts.is_some_and(|max| attempt > max) {
            return (self.closed(), Verdict::Fail);
        }
        let state = ConnectionState::Reconnecting { attempt, last: self.last };
        (Self { state, failures: attempt, ..self }, Verdict::Reconnect { attempt })
    }

    fn in_state(self, state: ConnectionState) -> Self {
        Self { state, failures: 0, ..self }
    }

    fn closed(self) -> Self {
        Self { state: ConnectionState::Closed, ..self }
    }
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
