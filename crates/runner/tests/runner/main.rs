//! The runner over the in-memory log, with models and tools that do as they are told.

mod agents;
mod control;
mod journal;
mod kill;
mod owners;
mod races;
mod script;
mod stage;
mod stops;
mod tool;
mod tools;
mod turns;
