//! The agent loop: from a submitted turn to its terminal event, over any crash.
//!
//! Everything that happens is an event in the session's log, written before it is acted upon; what the runner holds in
//! memory can be built again from the log at any time. It is no transport and no store: it appends through a
//! [`Journal`], calls models through `riverrun-provider` and tools through `riverrun-tool`.

mod actor;
mod actors;
pub mod agent;
mod approve;
mod call_pool;
mod command;
mod copied;
mod drive;
mod ending;
mod event_batch;
mod exact;
mod file;
mod history;
pub mod hook;
mod ids;
mod journal;
mod mailbox;
mod options;
mod plan;
pub mod reference;
mod registry;
mod resolved_agent;
mod runner;
mod safe_args;
mod schema;
mod session_journal;
mod settings;
mod shared;
mod timers;
mod turns;
mod view;

pub use actor::blob_named;
pub use agent::AgentSpec;
pub use approve::Rule;
pub use command::{
    Busy, CancelMode, Cancelled, CommandError, Conversation, Decide, Decided, Decision, Fate, Pause, Paused,
    ProcessOver, ProcessWrite, QueueEntry, RequestKey, Revoke, Revoked, Spawn, Submit, Submitted,
};
pub use copied::{CopiedTurns, CopyReason};
pub use file::FileOptions;
pub use journal::{
    AppendOutcome, AppendRetry, AppendedEvents, Entry, Incarnation, Journal, JournalError, JournalFuture,
    PendingAppend,
};
pub use options::Options;
pub use registry::{Registry, Route, Routes};
pub use riverrun_tool::{SchemaError, Terminate, check_schema, is_blocked};
pub use runner::{IdempotentRunner, Runner};
pub use settings::{Deltas, Settings};
pub use turns::TurnQuotas;

/// The thread of a turn that names none.
pub(crate) fn main_thread() -> riverrun_event::ThreadId {
    riverrun_event::ThreadId::new("main").expect("`main` fits the alphabet of ids")
}
