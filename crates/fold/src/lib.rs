//! Events in, one JSON state out.
//!
//! [`State::apply`] is pure, total, idempotent by sequence and costs what the event costs, not what came before it.
//! A malformed event becomes a recorded problem. The changes that an event made are handed out as places in the
//! state, so that a dialect can encode them without a fold of its own.
//!
//! This crate knows no foreign protocol, reads no clock and does no I/O.

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

pub use adopt::Adopted;
pub use apply::{Density, Outcome, session_status};
pub use benchmark::{BenchmarkFact, Benchmarks, Trial};
pub use change::{Change, ItemAt, PartAt};
pub use citation::{Marker, Scanner};
pub use file::TurnFile;
pub use job::{Job, JobItemState, JobStatus, Jobs, MAX_JOB_ITEMS, MAX_JOBS};
pub use ledger::{Entry, Family, Ledger};
pub use open::{OpenItem, OpenItems};
pub use problem::{Problem, ProblemCode, Problems};
pub use process::{Process, Processes};
pub use state::*;
pub use status::Status;

#[cfg(test)]
mod tests;
