//! Every operation, one file each, in a folder for what it is about.
//!
//! A new one is a file, a line in the table below, and a test.

pub mod actions;
pub mod agents;
pub mod benchmark;
pub mod evidence;
pub mod external_tasks;
pub mod jobs;
pub mod keys;
pub mod processes;
pub mod queue;
pub mod rules;
pub mod sessions;
pub mod shares;
pub mod subagents;
pub mod tasks;
pub mod tenants;
pub mod threads;
pub mod turns;

use std::sync::LazyLock;

use crate::operation::Entry;
use actions::{DecideAction, ListActions, ListSessionActions};
use agents::ListAgents;
use benchmark::ExportBenchmark;
use evidence::{ExportEvidence, RecordEvidence};
use external_tasks::{
    AppendTaskProgress, ArchiveTask, CancelTask, CompleteTask, CreateTask, FailTask, LinkTasks, ListTasks,
    PauseTask, ResumeTask, RetryTask, StartTask, UnlinkTasks, UpdateTask,
};
use jobs::{CancelJob, CreateJob, GetJob, ListJobs, RetryJobItem};
use keys::{CreateKey, ListKeys, RevokeKey, RotateKey};
use processes::{GetEnvironment, GetProcess, ListProcesses, TerminateProcess, WriteProcessStdin};
use queue::{ListQueue, PromoteQueuedTurn, RemoveQueuedTurn};
use rules::{ListRules, RevokeRule};
use sessions::{CreateSession, DeleteSession, GetSession, GetState, ListSessions};
use shares::{CreateShare, GetShare, ListShares, RevokeShare};
use subagents::{
    CloseSubagent, ListSubagents, ResumeSubagent, SendSubagentInput, SpawnSubagent, WaitSubagents,
};
use tasks::GetTask;
use tenants::{GetRetention, GetUsage, ListTenants};
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
        Entry::of::<ListTasks>(),
        Entry::of::<CreateTask>(),
        Entry::of::<UpdateTask>(),
        Entry::of::<StartTask>(),
        Entry::of::<AppendTaskProgress>(),
        Entry::of::<PauseTask>(),
        Entry::of::<ResumeTask>(),
        Entry::of::<CompleteTask>(),
        Entry::of::<FailTask>(),
        Entry::of::<CancelTask>(),
        Entry::of::<RetryTask>(),
        Entry::of::<ArchiveTask>(),
        Entry::of::<LinkTasks>(),
        Entry::of::<UnlinkTasks>(),
        Entry::of::<ListSubagents>(),
        Entry::of::<SpawnSubagent>(),
        Entry::of::<SendSubagentInput>(),
        Entry::of::<CloseSubagent>(),
        Entry::of::<WaitSubagents>(),
        Entry::of::<ResumeSubagent>(),
        Entry::of::<ListJobs>(),
        Entry::of::<CreateJob>(),
        Entry::of::<GetJob>(),
        Entry::of::<CancelJob>(),
        Entry::of::<RetryJobItem>(),
        Entry::of::<ExportBenchmark>(),
        Entry::of::<CreateKey>(),
        Entry::of::<ListKeys>(),
        Entry::of::<RevokeKey>(),
        Entry::of::<RotateKey>(),
        Entry::of::<ListTenants>(),
        Entry::of::<GetUsage>(),
        Entry::of::<GetRetention>(),
    ]
});

/// The operation with this JSON-RPC name, its own or an alias.
pub fn operation(name: &str) -> Option<&'static Entry> {
    OPERATIONS.iter().find(|entry| entry.about.name == name || entry.about.aliases.contains(&name))
}
