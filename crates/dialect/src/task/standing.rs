//! What readers know of each task's lifecycle, so that a frame is written only when it says something new.
//!
//! It equals the summaries of the tasks in the state: a projector that starts from a snapshot has the same.

use std::collections::HashMap;

use riverrun_event::TaskId;
use riverrun_fold::{State, Status};

use super::lifecycle::write_summary;
use crate::members::Members;

/// The last summary of each task in the window.
#[derive(Debug, Clone, Default)]
pub(super) struct Summaries(HashMap<TaskId, String>);

impl Summaries {
    pub(super) fn of(state: &State) -> Self {
        let summary =
            |at: usize| (state.tasks[at].task_id.clone(), summary(state, at, state.tasks[at].status));
        Self((0..state.tasks.len()).map(summary).collect())
    }

    /// Records what a frame says. False if readers know it.
    pub(super) fn is_new(&mut self, state: &State, task: usize, status: Status) -> bool {
        let summary = summary(state, task, status);
        match self.0.get_mut(&state.tasks[task].task_id) {
            Some(known) if *known == summary => false,
            Some(known) => {
                *known = summary;
                true
            }
            None => {
                self.0.insert(state.tasks[task].task_id.clone(), summary);
                true
            }
        }
    }

    /// Drops the tasks that left the window.
    pub(super) fn retain(&mut self, state: &State) {
        self.0.retain(|id, _| state.tasks.iter().any(|task| task.task_id == *id));
    }
}

fn summary(state: &State, task: usize, status: Status) -> String {
    let mut out = String::new();
    let mut members = Members::open(&mut out);
    write_summary(&mut members, &state.tasks[task], &state.actions, status);
    members.close();
    out
}
