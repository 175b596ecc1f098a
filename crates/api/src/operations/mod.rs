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

use crate::operation::OperationEntry;
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
pub static OPERATIONS: LazyLock<Vec<OperationEntry>> = LazyLock::new(|| {
    vec![
        OperationEntry::of::<CreateSession>(),
        OperationEntry::of::<ListSessions>(),
        OperationEntry::of::<GetSession>(),
        OperationEntry::of::<DeleteSession>(),
        OperationEntry::of::<GetState>(),
        OperationEntry::of::<GetThread>(),
        OperationEntry::of::<ExportEvidence>(),
        OperationEntry::of::<RecordEvidence>(),
        OperationEntry::of::<CancelTurn>(),
        OperationEntry::of::<RetryTurn>(),
        OperationEntry::of::<SteerTurn>(),
        OperationEntry::of::<ListQueue>(),
        OperationEntry::of::<RemoveQueuedTurn>(),
        OperationEntry::of::<PromoteQueuedTurn>(),
        OperationEntry::of::<ListActions>(),
        OperationEntry::of::<ListSessionActions>(),
        OperationEntry::of::<DecideAction>(),
        OperationEntry::of::<ListRules>(),
        OperationEntry::of::<RevokeRule>(),
        OperationEntry::of::<GetTask>(),
        OperationEntry::of::<ListProcesses>(),
        OperationEntry::of::<GetProcess>(),
        OperationEntry::of::<WriteProcessStdin>(),
        OperationEntry::of::<TerminateProcess>(),
        OperationEntry::of::<GetEnvironment>(),
        OperationEntry::of::<ListAgents>(),
        OperationEntry::of::<CreateShare>(),
        OperationEntry::of::<ListShares>(),
        OperationEntry::of::<GetShare>(),
        OperationEntry::of::<RevokeShare>(),
        OperationEntry::of::<ListTasks>(),
        OperationEntry::of::<CreateTask>(),
        OperationEntry::of::<UpdateTask>(),
        OperationEntry::of::<StartTask>(),
        OperationEntry::of::<AppendTaskProgress>(),
        OperationEntry::of::<PauseTask>(),
        OperationEntry::of::<ResumeTask>(),
        OperationEntry::of::<CompleteTask>(),
        OperationEntry::of::<FailTask>(),
        OperationEntry::of::<CancelTask>(),
        OperationEntry::of::<RetryTask>(),
        OperationEntry::of::<ArchiveTask>(),
        OperationEntry::of::<LinkTasks>(),
        OperationEntry::of::<UnlinkTasks>(),
        OperationEntry::of::<ListSubagents>(),
        OperationEntry::of::<SpawnSubagent>(),
        OperationEntry::of::<SendSubagentInput>(),
        OperationEntry::of::<CloseSubagent>(),
        OperationEntry::of::<WaitSubagents>(),
        OperationEntry::of::<ResumeSubagent>(),
        OperationEntry::of::<ListJobs>(),
        OperationEntry::of::<CreateJob>(),
        OperationEntry::of::<GetJob>(),
        OperationEntry::of::<CancelJob>(),
        OperationEntry::of::<RetryJobItem>(),
        OperationEntry::of::<ExportBenchmark>(),
        OperationEntry::of::<CreateKey>(),
        OperationEntry::of::<ListKeys>(),
        OperationEntry::of::<RevokeKey>(),
        OperationEntry::of::<RotateKey>(),
        OperationEntry::of::<ListTenants>(),
        OperationEntry::of::<GetUsage>(),
        OperationEntry::of::<GetRetention>(),
    ]
});

/// The operation with this JSON-RPC name, its own or an alias.
pub fn operation(name: &str) -> Option<&'static OperationEntry> {
    OPERATIONS.iter().find(|entry| entry.about.name == name || entry.about.aliases.contains(&name))
}
