//! Events in, one JSON state out.
//!
//! [`State::apply`] is pure, total, idempotent by sequence and costs what the event costs, not what came before it.
//! A malformed event becomes a recorded problem. The changes that an event made are handed out as places in the
//! state, so that a dialect can encode them without a fold of its own.
//!
//! This crate knows no foreign protocol, reads no clock and does no I/O.
//!
//! ```
//! use riverrun_event::{Sequence, SessionId, Timestamp, decode};
//! use riverrun_fold::{ApplyOutcome, State, Status};
//!
//! let mut state = State::new(SessionId::new("hello")?);
//! let text = r#"{"type":"turn.started","turnId":"turn_1","payload":{}}"#;
//! let event = decode(text)?.into_event(Sequence::ZERO.next().ok_or("full")?, Timestamp::from_millis(0));
//! let mut changes = Vec::new();
//! assert_eq!(state.apply(&event, &mut changes), ApplyOutcome::Applied);
//! assert_eq!(state.apply(&event, &mut changes), ApplyOutcome::Duplicate);
//! assert_eq!(state.turns[0].status, Status::Running);
//! // A state that is restored from its JSON continues like the original.
//! assert_eq!(State::from_json(&state.to_json())?, state);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(missing_docs)]

mod adopt;
mod apply;
mod benchmark;
mod change;
mod citation;
mod file;
mod job;
mod ledger;
mod open;
mod problem;
mod process;
pub mod read_model;
mod restore;
mod state;
mod status;
pub mod view;

pub use adopt::AdoptOutcome;
pub use apply::{ApplyOutcome, Density, session_status};
pub use benchmark::{BenchmarkFact, Benchmarks, Trial};
pub use change::{Change, ItemAt, PartAt};
pub use citation::{Marker, Scanner};
pub use file::TurnFile;
pub use job::{JobItemState, JobState, JobStatus, Jobs, MAX_JOB_ITEMS, MAX_JOBS};
pub use ledger::{Ledger, LedgerEntry, LedgerFamily};
pub use open::{OpenItem, OpenItems};
pub use problem::{FoldProblem, ProblemCode, Problems};
pub use process::{Process, Processes};
pub use state::*;
pub use status::Status;

#[cfg(test)]
mod tests;
