//! A snapshot in the log may correct what events told. It never erases a pending action or a failed call.

use riverrun_event::{SnapshotInfo, TaskId, ThreadId};
use serde::Deserialize;

use super::Step;
use crate::change::Change;
use crate::state::Status;

/// What we take from the standard's snapshot; the rest is shown as it was told.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Correction {
    threads: Vec<ThreadCorrection>,
    tasks: Vec<TaskCorrection>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ThreadCorrection {
    #[serde(alias = "thread_id")]
    thread_id: ThreadId,
    status: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TaskCorrection {
    #[serde(alias = "task_id")]
    task_id: TaskId,
    status: String,
    title: Option<String>,
}

impl Step<'_> {
    /// The union of both sides: statuses and titles are the snapshot's, actions and tool calls stay as they are.
    pub(super) fn snapshot(&mut self, info: &SnapshotInfo) {
        let correction = info.snapshot.as_ref().and_then(|raw| raw.to::<Correction>().ok()).unwrap_or_default();
        for told in correction.threads {
            let thread = self.thread_of(told.thread_id);
            if let Some(status) = Status::parse(&told.status) {
                self.state.threads[thread].status = status;
                self.change(Change::Thread { thread });
            }
        }
        for told in correction.tasks {
            let Some(task) = self.state.index.tasks.get(&told.task_id).copied() else { continue };
            let state = &mut self.state.tasks[task];
            state.title = told.title.or(state.title.take());
            if let Some(status) = Status::parse(&told.status) {
                state.status = status;
            }
            self.change(Change::TaskStatus { task });
        }
        self.ledger();
    }
}
