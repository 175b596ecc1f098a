//! The runner over the in-memory log, with models and tools that do as they are told.

// A test that cannot go on ends there.
#![allow(clippy::unwrap_used)]

mod agent_approvals;
mod agents;
mod answers;
mod cited;
mod codes;
mod compaction;
mod consent;
mod control;
mod cut;
mod deleted;
mod guards;
mod hand_over;
mod hooks;
mod hooks_kill;
mod journal;
mod kept;
mod kill;
mod limits;
mod once;
mod opaque;
mod outputs;
mod owners;
mod pauses;
mod pictures;
mod predicates;
mod processes;
mod races;
mod script;
mod spawned;
mod stage;
mod steers;
mod stops;
mod threads;
mod tool;
mod toolboxes;
mod tools;
mod turns;
