//! Tasks and their attempts.

use riverrun_event::{TaskAttempt, TaskChange, TaskCompleted, TaskFailed, TaskInfo};

use super::Step;
use crate::change::Change;
use crate::problem::ProblemCode;
use crate::state::{Attempt, Status};

impl Step<'_> {
    pub(super) fn task_created(&mut self, info: &TaskInfo) {
        let Some(task) = self.named_task() else { return };
        self.link_parent(task, info);
        self.fill_task(task, info);
        let status = info.status.as_deref().and_then(Status::parse).unwrap_or(Status::Accepted);
        self.state.tasks[task].status = status;
        self.change(Change::TaskStatus { task });
    }

    pub(super) fn task_updated(&mut self, info: &TaskInfo) {
        let Some(task) = self.named_task() else { return };
        self.fill_task(task, info);
        if let Some(status) = info.status.as_deref().and_then(Status::parse) {
            self.set_task_status(task, status);
        } else {
            self.change(Change::TaskStatus { task });
        }
    }

    fn fill_task(&mut self, task: usize, info: &TaskInfo) {
        let state = &mut self.state.tasks[task];
        state.title = info.title.clone().or(state.title.take());
        state.objective = info.objective.clone().or(state.objective.take());
        state.agent = info.agent.clone().or(state.agent.take());
        state.status_reason = info.reason.clone().or(state.status_reason.take());
    }

    /// The payload may name the parent's call where the envelope does not.
    fn link_parent(&mut self, task: usize, info: &TaskInfo) {
        let call = info.parent_tool_call_id.as_deref().and_then(|id| riverrun_event::ToolCallId::new(id).ok());
        let state = &mut self.state.tasks[task];
        state.parent_tool_call_id = state.parent_tool_call_id.take().or(call);
    }

    pub(super) fn task_status(&mut self, status: Status, change: &TaskChange) {
        let Some(task) = self.named_task() else { return };
        // `task.waiting` says what for; the other types are their own status.
        let told = change.status.as_deref().and_then(Status::parse);
        let status = told.filter(|told| status.is_waiting() && told.is_waiting()).unwrap_or(status);
        self.state.tasks[task].status_reason.clone_from(&change.reason);
        self.set_task_status(task, status);
    }

    pub(super) fn task_failed(&mut self, failed: &TaskFailed) {
        let Some(task) = self.named_task() else { return };
        self.state.tasks[task].error = Some(failed.error.clone());
        self.set_task_status(task, Status::Failed);
    }

    pub(super) fn task_completed(&mut self, completed: &TaskCompleted) {
        let Some(task) = self.named_task() else { return };
        let state = &mut self.state.tasks[task];
        state.status_reason = completed.reason.clone().or(state.status_reason.take());
        self.set_task_status(task, Status::Completed);
    }

    fn set_task_status(&mut self, task: usize, status: Status) {
        let state = &mut self.state.tasks[task];
        let before = state.status;
        if before.is_terminal() && !may_follow_end(status) {
            let detail = format!("task `{}` was {} before", state.task_id, before.as_str());
            return self.problem(ProblemCode::AlreadyEnded, detail);
        }
        if status.is_terminal() && !before.is_terminal() {
            return self.end_task(task, status);
        }
        state.status = status;
        if !status.is_terminal() {
            state.ended_at = None;
        }
        self.change(Change::TaskStatus { task });
    }

    pub(super) fn attempt(&mut self, status: Status, attempt: &TaskAttempt) {
        let Some(task) = self.named_task() else { return };
        let run_id = self.event.scope.run_id.clone();
        let state = &mut self.state.tasks[task];
        let known = state.attempts.iter_mut().rev().find(|known| known.run_id == run_id);
        match known {
            Some(known) => {
                known.status = status;
                known.error = attempt.error.clone().or(known.error.take());
                known.ended_at = status.is_terminal().then_some(self.event.timestamp);
            }
            None => state.attempts.push(Attempt {
                run_id: run_id.clone(),
                status,
                started_at: (status == Status::Running).then_some(self.event.timestamp),
                ended_at: status.is_terminal().then_some(self.event.timestamp),
                error: attempt.error.clone(),
            }),
        }
        if status == Status::Running {
            // A new attempt reopens a task that had failed; the failed attempt stays.
            state.run_id = run_id;
            state.status = Status::Running;
            state.ended_at = None;
        }
        self.change(Change::TaskStatus { task });
    }

    fn named_task(&mut self) -> Option<usize> {
        if self.event.scope.task_id.is_none() && self.event.scope.turn_id.is_none() {
            self.problem(ProblemCode::MissingCorrelation, format!("{} without a taskId", self.event.kind.as_str()));
            return None;
        }
        Some(self.task())
    }
}

/// After its end a task may only be tried again or put away.
fn may_follow_end(status: Status) -> bool {
    matches!(status, Status::Retrying | Status::Archived)
}
