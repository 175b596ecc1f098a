//! The runner's place in the server: where it writes, what it may run, and how its answers are told.

mod agents;
mod answer;
mod journal;
mod random;

pub use agents::Agents;
pub(crate) use answer::{Asked, problem};
pub(crate) use journal::ServerJournal;
pub(crate) use random::SystemRandom;
