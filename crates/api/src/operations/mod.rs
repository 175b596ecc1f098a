//! Every operation, one file each, in a folder for what it is about.
//!
//! A new one is a file, a line in the table below, and a test.

pub mod benchmark;
pub mod external_tasks;
pub mod jobs;
pub mod keys;
pub mod queue;
pub mod rules;
pub mod subagents;
pub mod tenants;
pub mod turns;

use std::sync::LazyLock;

use crate::operation::Entry;
use benchmark::ExportBenchmark;
use external_tasks::{
    AppendTaskProgress, ArchiveTask, CancelTask, CompleteTask, CreateTask, FailTask, LinkTasks, ListTasks,
    PauseTask, ResumeTask, RetryTask, StartTask, UnlinkTasks, UpdateTask,
};
use jobs::{CancelJob, CreateJob, GetJob, ListJobs, RetryJobItem};
use keys::{CreateKey, ListKeys, RevokeKey, RotateKey};
use queue::{ListQueue, PromoteQueuedTurn, RemoveQueuedTurn};
use rules::{ListRules, RevokeRule};
use subagents::{
    CloseSubagent, ListSubagents, ResumeSubagent, SendSubagentInput, SpawnSubagent, WaitSubagents,
};
use tenants::{GetRetention, GetUsage, ListTenants};
use turns::{CancelTurn, RetryTurn, SteerTurn};

/// The table from which HTTP, JSON-RPC, OpenAPI and the clients are made, in the order of the documents.
pub static OPERATIONS: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    vec![
        Entry::of::<CancelTurn>(),
        Entry::of::<RetryTurn>(),
        Entry::of::<SteerTurn>(),
        Entry::of::<ListQueue>(),
        Entry::of::<RemoveQueuedTurn>(),
        Entry::of::<PromoteQueuedTurn>(),
        Entry::of::<ListRules>(),
        Entry::of::<RevokeRule>(),
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
