//! External tasks: work that the caller does itself, elsewhere or by hand, and reports here.
//!
//! They belong to no turn, so no runner works on them. Their status changes only along the edges of `verb.rs`, one
//! command after the other, and each command appends the events of the standard. Some commands also work on tasks
//! that the runner works on: those are in `run_here.rs`.

mod archive;
mod cancel;
mod command;
mod complete;
mod create;
mod fail;
mod link;
mod list;
mod pause;
mod progress;
mod resume;
mod retry;
mod run_here;
mod start;
mod steps;
mod unlink;
mod update;
mod verb;

use riverrun_event::TaskId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use archive::ArchiveTask;
pub use cancel::{CancelTask, cancel_task};
pub use complete::CompleteTask;
pub use create::CreateTask;
pub use fail::FailTask;
pub use link::LinkTasks;
pub use list::{ListTasks, TaskList};
pub use pause::PauseTask;
pub use progress::AppendTaskProgress;
pub use resume::ResumeTask;
pub use retry::{RetriedTask, RetryTask};
pub use run_here::{Halt, pause_task, turn_of};
pub use start::StartTask;
pub use unlink::UnlinkTasks;
pub use update::UpdateTask;

/// A task after a command.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangedTask {
    pub task_id: TaskId,
    pub status: String,
    /// The task had this status before.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
    /// The runner carries the command out; this is its acceptance.
    #[serde(skip)]
    pub is_accepted_only: bool,
}

impl ChangedTask {
    fn new(task_id: TaskId, status: &str) -> Self {
        Self { task_id, status: status.to_owned(), duplicate: false, is_accepted_only: false }
    }
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum TaskVisibility {
    Foreground,
    Background,
    Internal,
    Hidden,
    Unknown,
}
