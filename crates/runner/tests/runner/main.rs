//! The runner over the in-memory log, with models and tools that do as they are told.

// A test that cannot go on ends there.
#![allow(clippy::unwrap_used)]

mod agents;
mod compaction;
mod control;
mod journal;
mod kept;
mod kill;
mod once;
mod outputs;
mod owners;
mod races;
mod script;
mod stage;
mod stops;
mod tool;
mod tools;
mod turns;
