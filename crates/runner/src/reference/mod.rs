//! Numbers for what tools gave back, so that the model can cite it and the user can look it up.
//!
//! What both the model and the user see of a result is a group with a number in the task's [`Pool`]. The model reads
//! the group between two marker parts that carry the number, and cites it as `[^1]`. A child has a pool of its own;
//! what its message cites is given numbers of the parent's pool. Nothing here does I/O: the pool of a task can be
//! made again from its items at any time.

mod adopt;
mod citation;
mod pool;
mod wrapper;

pub use adopt::{Adopted, Keep};
pub use citation::{Citations, Found, annotate, without_citations};
pub use pool::{Group, Numbered, Pool, Problem};
pub use wrapper::Wrapper;

#[cfg(test)]
mod tests;
