//! The runner over the in-memory log, with models and tools that do as they are told.

mod journal;
mod script;
mod stage;
mod turns;
