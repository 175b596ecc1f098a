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
pub mod faults;
mod follow;
mod frames;
mod http;
mod load;
pub mod power;
mod produce;
mod random;
mod round;
pub mod runner;
pub mod seeded;
mod server;
mod strace;

pub mod kill;

pub use server::{Place, Program, Server};
