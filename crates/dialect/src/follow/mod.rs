//! One turn of a log as happenings: what the dialects that show a turn to a person have in common.
//!
//! ```text
//!   events -> fold -> changes -> happenings (places in the state, text from a byte on) -> a dialect's frames
//! ```
//!
//! What a reader has seen follows from the state alone, so a follower that is made from a state goes on exactly like
//! one that saw every event.

mod emitted;
pub(crate) mod error;
mod follower;
mod happening;
mod opening;
mod phase;
mod read;
mod shell;
mod sync;

pub(crate) use follower::{Follower, happenings};
pub(crate) use happening::{Happening, List, Spot};
pub(crate) use read::*;
pub(crate) use shell::{Encode, EncodeContext, Shell};
