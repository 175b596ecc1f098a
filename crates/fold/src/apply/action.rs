//! Actions: what waits for somebody, and what was decided. The first decision stands.

use riverrun_event::RawJson;

use super::Step;
use crate::change::Change;
use crate::problem::ProblemCode;
use crate::state::{Action, ActionStatus, Status};

impl Step<'_> {
    pub(super) fn action_required(&mut self) {
        let Some(action_id) = self.event.scope.action_id.clone() else {
            return self.problem(ProblemCode::MissingCorrelation, "action.required without an actionId");
        };
        if self.state.actions.iter().any(|action| action.action_id == action_id) {
            return self.problem(ProblemCode::AlreadyEnded, format!("action `{action_id}` was required before"));
        }
        let task = self.find_task();
        let root = task.map(|task| self.root_of(task));
        let task_id = |task: Option<usize>| task.map(|task| self.state.tasks[task].task_id.clone());
        let action = Action {
            action_id,
            status: ActionStatus::Pending,
            sequence: self.event.sequence,
            required_at: self.event.timestamp,
            request: self.event.raw_payload.clone().unwrap_or_else(RawJson::empty_object),
            turn_id: self.event.scope.turn_id.clone(),
            task_id: task_id(task).or_else(|| self.event.scope.task_id.clone()),
            root_task_id: task_id(root),
            tool_call_id: self.event.scope.tool_call_id.clone(),
            resolved_at: None,
            resolution: None,
        };
        self.state.actions.push(action);
        self.change(Change::ActionRequired { action: self.state.actions.len() - 1 });
        self.wait(task, root, Status::WaitingPermission);
    }

    pub(super) fn action_resolved(&mut self) {
        let Some(action_id) = self.event.scope.action_id.clone() else {
            return self.problem(ProblemCode::MissingCorrelation, "action.resolved without an actionId");
        };
        let Some(action) = self.state.actions.iter().rposition(|action| action.action_id == action_id) else {
            return self.problem(ProblemCode::UnknownAction, format!("action `{action_id}`"));
        };
        let state = &mut self.state.actions[action];
        if state.status != ActionStatus::Pending {
            return self.problem(ProblemCode::AlreadyEnded, format!("action `{action_id}` was decided before"));
        }
        state.status = ActionStatus::Resolved;
        state.resolved_at = Some(self.event.timestamp);
        state.resolution.clone_from(&self.event.raw_payload);
        let (task_id, root_id) = (state.task_id.clone(), state.root_task_id.clone());
        self.change(Change::ActionResolved { action });
        let place = |id: Option<riverrun_event::TaskId>| id.and_then(|id| self.state.index.tasks.get(&id).copied());
        let (task, root) = (place(task_id), place(root_id));
        for waiting in [task, root.filter(|root| Some(*root) != task)].into_iter().flatten() {
            if !self.is_waited_for(waiting) {
                self.wait(Some(waiting), None, Status::Running);
            }
        }
    }

    /// True if an action on this task, or on one below it, is pending.
    fn is_waited_for(&self, task: usize) -> bool {
        let id = Some(&self.state.tasks[task].task_id);
        self.state.actions.iter().any(|action| {
            action.status == ActionStatus::Pending && (action.task_id.as_ref() == id || action.root_task_id.as_ref() == id)
        })
    }

    /// The task, the outermost task above it, and the turn wait or go on together.
    fn wait(&mut self, task: Option<usize>, root: Option<usize>, status: Status) {
        for task in [task, root.filter(|root| Some(*root) != task)].into_iter().flatten() {
            let state = &mut self.state.tasks[task];
            if !state.status.is_terminal() && state.status != status {
                state.status = status;
                self.change(Change::TaskStatus { task });
            }
        }
        let turn = self.event.scope.turn_id.as_ref().and_then(|turn| self.find_turn(turn));
        let Some(turn) = turn.filter(|turn| !self.state.turns[*turn].status.is_terminal()) else { return };
        let pending = |action: &Action| {
            action.status == ActionStatus::Pending && action.turn_id.as_ref() == self.event.scope.turn_id.as_ref()
        };
        if status == Status::Running && self.state.actions.iter().any(pending) {
            return;
        }
        self.state.turns[turn].status = status;
        let thread_id = self.state.turns[turn].thread_id.clone();
        let thread = self.thread_of(thread_id);
        self.state.threads[thread].status = status;
        self.change(Change::Turn { turn });
    }
}
