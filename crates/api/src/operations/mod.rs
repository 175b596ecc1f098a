//! Every operation, one file each, in a folder for what it is about.
//!
//! A new one is a file, a line in the table below, and a test.

pub mod actions;
pub mod agents;
pub mod evidence;
pub mod processes;
pub mod queue;
pub mod rules;
pub mod sessions;
pub mod shares;
pub mod tasks;
pub mod threads;
pub mod turns;

use std::sync::LazyLock;

use crate::operation::Entry;
use actions::{DecideAction, ListActions, ListSessionActions};
use agents::ListAgents;
use evidence::{ExportEvidence, RecordEvidence};
use processes::{GetEnvironment, GetProcess, ListProcesses, TerminateProcess, WriteProcessStdin};
use queue::{ListQueue, PromoteQueuedTurn, RemoveQueuedTurn};
use rules::{ListRules, RevokeRule};
use sessions::{CreateSession, DeleteSession, GetSession, GetState, ListSessions};
use shares::{CreateShare, GetShare, ListShares, RevokeShare};
use tasks::GetTask;
use threads::GetThread;
use turns::{CancelTurn, RetryTurn, SteerTurn};

/// The table from which HTTP, JSON-RPC, OpenAPI and the clients are made, in the order of the documents.
pub static OPERATIONS: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    vec![
        Entry::of::<CreateSession>(),
        Entry::of::<ListSessions>(),
        Entry::of::<GetSession>(),
        Entry::of::<DeleteSession>(),
        Entry::of::<GetState>(),
        Entry::of::<GetThread>(),
        Entry::of::<ExportEvidence>(),
        Entry::of::<RecordEvidence>(),
        Entry::of::<CancelTurn>(),
        Entry::of::<RetryTurn>(),
        Entry::of::<SteerTurn>(),
        Entry::of::<ListQueue>(),
        Entry::of::<RemoveQueuedTurn>(),
        Entry::of::<PromoteQueuedTurn>(),
        Entry::of::<ListActions>(),
        Entry::of::<ListSessionActions>(),
        Entry::of::<DecideAction>(),
        Entry::of::<ListRules>(),
        Entry::of::<RevokeRule>(),
        Entry::of::<GetTask>(),
        Entry::of::<ListProcesses>(),
        Entry::of::<GetProcess>(),
        Entry::of::<WriteProcessStdin>(),
        Entry::of::<TerminateProcess>(),
        Entry::of::<GetEnvironment>(),
        Entry::of::<ListAgents>(),
        Entry::of::<CreateShare>(),
        Entry::of::<ListShares>(),
        Entry::of::<GetShare>(),
        Entry::of::<RevokeShare>(),
    ]
});

/// The operation with this JSON-RPC name, its own or an alias.
pub fn operation(name: &str) -> Option<&'static Entry> {
    OPERATIONS.iter().find(|entry| entry.about.name == name || entry.about.aliases.contains(&name))
}
