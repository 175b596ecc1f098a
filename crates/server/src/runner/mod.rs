//! The runner's place in the server: where it writes, what it may run, and how its answers are told.

mod agents;
mod answer;

pub use agents::Agents;
pub(crate) use answer::{Asked, problem};
