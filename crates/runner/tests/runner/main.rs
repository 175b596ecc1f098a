//! The runner over the in-memory log, with models and tools that do as they are told.

// A test that cannot go on ends there.
#![allow(clippy::unwrap_used)]

mod agents;
mod control;
mod journal;
mod kill;
mod outputs;
mod owners;
mod races;
mod script;
mod stage;
mod stops;
mod tool;
mod tools;
mod turns;
