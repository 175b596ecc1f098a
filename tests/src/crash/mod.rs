//! What survives a crash: the suites, and the checker that judges them.
//!
//! ```text
//! producers ──▶ server (killed, cut off, out of space, …) ──▶ followers
//!     │ acked: session, sequence, key                             │ delivered: session, sequence, digest
//!     └───────────────▶ checker ◀── export of the log ◀───────────┘
//! ```

pub mod checker;
pub mod control;
mod events;
pub mod fairness;
pub mod faults;
mod follow;
pub(crate) mod frames;
pub(crate) mod http;
mod load;
pub mod power;
mod produce;
pub(crate) mod random;
mod round;
pub mod runner;
pub mod seeded;
pub(crate) mod server;
mod strace;

pub mod kill;

pub use server::{Place, Program, Server};
