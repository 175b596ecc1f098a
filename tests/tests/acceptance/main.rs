//! The eighteen acceptance scenarios of the Agent Runtime standard, by their numbers, on the real binary.
//!
//! Beside them `configured`, tools as a configuration declares them, and `service`, a model service of one's own.
//!
//! Each scenario says at its end which types of events it saw: `spec/scenarios.txt` is compared with that, see `seen`.
//!
//! 2 (the fixtures of its profile) is held by the tests of the dialect `native` and of the event crate.

// A test that cannot go on ends there.
#![allow(clippy::unwrap_used)]

mod batch;
mod configured;
mod delegate;
mod facts;
mod files;
mod gates;
mod hand_over;
mod hooks;
mod jobs;
mod leftovers;
mod limits;
mod once;
mod pauses;
mod process;
mod profile;
mod recover;
mod secrets;
mod seen;
mod service;
mod stage;
