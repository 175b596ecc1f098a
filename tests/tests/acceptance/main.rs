//! The eighteen acceptance scenarios of the Agent Runtime standard, by their numbers, on the real binary.
//!
//! Beside them `configured`, tools as a configuration declares them, and `service`, a model service of one's own.
//!
//! Not provided: 17 (jobs), 18 (benchmark trials).
//! 2 (the fixtures of its profile) is held by the tests of the dialect `native` and of the event crate.

// A test that cannot go on ends there.
#![allow(clippy::unwrap_used)]

mod configured;
mod delegate;
mod gates;
mod hand_over;
mod hooks;
mod leftovers;
mod limits;
mod once;
mod pauses;
mod process;
mod recover;
mod secrets;
mod service;
mod stage;
