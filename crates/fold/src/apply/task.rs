//! Tasks and their attempts.

use riverrun_event::{RunId, TaskAttempt, TaskChange, TaskCompleted, TaskFailed, TaskInfo, ToolCallId};

use super::Step;
use crate::change::Change;
use crate::problem::ProblemCode;
use crate::state::AttemptState;
use crate::status::Status;

impl Step<'_> {
    pub(super) fn task_created(&mut self, info: &TaskInfo) {
        let known = self.state.tasks.len();
        let Some(task) = self.named_task() else { return };
        self.fill_task(task, info);
        self.name_call(task, info);
        if self.state.tasks.len() > known {
            let declared = info.status.as_deref().and_then(Status::parse);
            self.state.tasks[task].status = declared.unwrap_or(Status::Accepted);
        } else {
            self.link_parent(task);
        }
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
    fn name_call(&mut self, task: usize, info: &TaskInfo) {
        let declared = info.parent_tool_call_id.as_deref().and_then(|id| ToolCallId::new(id).ok());
        let call = self.event.scope.parent_tool_call_id.clone().or(declared);
        let state = &mut self.state.tasks[task];
        state.parent_tool_call_id = state.parent_tool_call_id.take().or(call);
    }

    /// A task's events may come before its parent's.
    fn link_parent(&mut self, task: usize) {
        let state = &self.state.tasks[task];
        let Some(parent) = self.event.scope.parent_task_id.clone().filter(|_| state.parent_task_id.is_none())
        else {
            return;
        };
        let task_id = state.task_id.clone();
        if self.is_ancestor(&task_id, &parent) {
            return self.task_cycle(&task_id);
        }
        self.state.tasks[task].depth =
            self.event.scope.depth.unwrap_or_else(|| self.depth_below(Some(&parent)));
        self.state.tasks[task].parent_task_id = Some(parent);
        self.give_up_root(task);
    }

    /// A child is not the root of its turn.
    fn give_up_root(&mut self, task: usize) {
        let state = &self.state.tasks[task];
        let Some(turn) = state.turn_id.as_ref().and_then(|turn| self.find_turn(turn)) else { return };
        let root = &mut self.state.turns[turn].task_id;
        if root.as_ref() == Some(&state.task_id) {
            *root = None;
        }
    }

    pub(super) fn task_status(&mut self, status: Status, change: &TaskChange) {
        let Some(task) = self.named_task() else { return };
        // `task.waiting` says what for; the other types are their own status.
        let declared = change.status.as_deref().and_then(Status::parse);
        let status =
            declared.filter(|declared| status.is_waiting() && declared.is_waiting()).unwrap_or(status);
        self.state.tasks[task].status_reason.clone_from(&change.reason);
        self.set_task_status(task, status);
    }

    pub(super) fn task_failed(&mut self, failed: &TaskFailed) {
        let Some(task) = self.named_task() else { return };
        if !self.state.tasks[task].status.is_terminal() {
            self.state.tasks[task].error = Some(failed.error.clone());
        }
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
        self.halt_turn(task, before);
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
                known.worker = attempt.worker.clone().or(known.worker.take());
                known.ended_at = status.is_terminal().then_some(self.event.timestamp);
            }
            None => state.attempts.push(AttemptState {
                run_id: run_id.clone(),
                status,
                started_at: (status == Status::Running).then_some(self.event.timestamp),
                ended_at: status.is_terminal().then_some(self.event.timestamp),
                error: attempt.error.clone(),
                worker: attempt.worker.clone(),
            }),
        }
        if status == Status::Running {
            self.reopen_task(task, run_id);
        }
        self.change(Change::TaskStatus { task });
    }

    /// A new run of a task. One that had ended is open again, and the run that ended stays as an attempt.
    pub(super) fn reopen_task(&mut self, task: usize, run_id: Option<RunId>) {
        let state = &mut self.state.tasks[task];
        let before = state.run_id.clone();
        if state.status.is_terminal()
            && before != run_id
            && !state.attempts.iter().any(|known| known.run_id == before)
        {
            let ended = AttemptState {
                run_id: before,
                status: state.status,
                started_at: state.created_at,
                ended_at: state.ended_at,
                error: state.error.clone(),
                worker: None,
            };
            // The new run may stand there already; what ended comes before it.
            let new = state.attempts.last().is_some_and(|last| last.run_id == run_id);
            state.attempts.insert(state.attempts.len() - usize::from(new), ended);
        }
        if !state.attempts.is_empty() && !state.attempts.iter().any(|known| known.run_id == run_id) {
            let started_at = Some(self.event.timestamp);
            let (status, run_id) = (Status::Running, run_id.clone());
            let (ended_at, error, worker) = (None, None, None);
            state.attempts.push(AttemptState { run_id, status, started_at, ended_at, error, worker });
        }
        state.run_id = run_id;
        state.status = Status::Running;
        state.error = None;
        state.ended_at = None;
    }

    fn named_task(&mut self) -> Option<usize> {
        if self.event.scope.task_id.is_none() && self.event.scope.turn_id.is_none() {
            self.problem(
                ProblemCode::MissingCorrelation,
                format!("{} without a taskId", self.event.kind.as_str()),
            );
            return None;
        }
        if let Some(task) = self.find_task() {
            return Some(task);
        }
        // An ended turn gets no new tasks.
        if self.is_after_the_end() { None } else { Some(self.task()) }
    }
}

/// After its end a task may only be tried again or put away.
fn may_follow_end(status: Status) -> bool {
    matches!(status, Status::Retrying | Status::Archived)
}
