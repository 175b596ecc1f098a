//! Pending and resolved actions. The first decision wins.

use riverrun_event::{RawJson, TaskId, TurnId};

use super::Step;
use crate::change::Change;
use crate::problem::ProblemCode;
use crate::state::{ActionState, ActionStatus};
use crate::status::Status;

impl Step<'_> {
    pub(super) fn action_required(&mut self) {
        let Some(action_id) = self.event.scope.action_id.clone() else {
            return self.problem(ProblemCode::MissingCorrelation, "action.required without an actionId");
        };
        if self.state.index.actions.contains_key(&action_id) {
            return self
                .problem(ProblemCode::AlreadyEnded, format!("action `{action_id}` was required before"));
        }
        if self.is_after_the_end() {
            return;
        }
        let task = match self.event.scope.task_id {
            Some(_) => Some(self.task()),
            None => self.find_task(),
        };
        let root = task.map(|task| self.root_of(task));
        let task_id = |task: Option<usize>| task.map(|task| self.state.tasks[task].task_id.clone());
        let of_task = task.and_then(|task| self.state.tasks[task].turn_id.clone());
        let action = ActionState {
            action_id,
            status: ActionStatus::Pending,
            sequence: self.event.sequence,
            required_at: self.event.timestamp,
            request: self.event.raw_payload.clone().unwrap_or_else(RawJson::empty_object),
            turn_id: self.event.scope.turn_id.clone().or(of_task),
            task_id: task_id(task),
            root_task_id: task_id(root),
            tool_call_id: self.event.scope.tool_call_id.clone(),
            resolved_at: None,
            resolution: None,
        };
        let (turn_id, tasks) = (action.turn_id.clone(), [task, root.filter(|root| Some(*root) != task)]);
        self.push_action(action);
        tasks.into_iter().flatten().for_each(|task| self.wait_task(task));
        self.wait_turn(turn_id.as_ref());
    }

    pub(super) fn push_action(&mut self, action: ActionState) {
        let at = self.state.actions.len();
        self.state.index.actions.insert(action.action_id.clone(), at);
        self.state.index.add_pending(&action);
        self.state.actions.push(action);
        self.change(Change::ActionRequired { action: at });
    }

    pub(super) fn action_resolved(&mut self) {
        let Some(action_id) = self.event.scope.action_id.clone() else {
            return self.problem(ProblemCode::MissingCorrelation, "action.resolved without an actionId");
        };
        let Some(action) = self.state.index.actions.get(&action_id).copied() else {
            return self.problem(ProblemCode::UnknownAction, format!("action `{action_id}`"));
        };
        let state = &mut self.state.actions[action];
        if state.status != ActionStatus::Pending {
            return self
                .problem(ProblemCode::AlreadyEnded, format!("action `{action_id}` was decided before"));
        }
        self.state.index.remove_pending(state);
        state.status = ActionStatus::Resolved;
        state.resolved_at = Some(self.event.timestamp);
        state.resolution.clone_from(&self.event.raw_payload);
        let (turn_id, task_id, root_id) =
            (state.turn_id.clone(), state.task_id.clone(), state.root_task_id.clone());
        self.change(Change::ActionResolved { action });
        for waiting in
            [task_id.clone(), root_id.filter(|root| Some(root) != task_id.as_ref())].into_iter().flatten()
        {
            self.wake_task(&waiting);
        }
        self.wake_turn(turn_id.as_ref());
    }

    /// What is paused waits for that first.
    fn wait_task(&mut self, task: usize) {
        let state = &mut self.state.tasks[task];
        let stays = matches!(state.status, Status::WaitingPermission | Status::Paused);
        if !state.status.is_terminal() && !stays {
            state.status = Status::WaitingPermission;
            self.change(Change::TaskStatus { task });
        }
    }

    /// Only what waits for a decision goes on with it; a task that was paused since stays so.
    fn wake_task(&mut self, task_id: &TaskId) {
        if self.state.index.task_waits(task_id) {
            return;
        }
        let Some(task) = self.state.index.tasks.get(task_id).copied() else { return };
        let state = &mut self.state.tasks[task];
        if state.status == Status::WaitingPermission {
            state.status = Status::Running;
            self.change(Change::TaskStatus { task });
        }
    }

    fn wait_turn(&mut self, turn_id: Option<&TurnId>) {
        let Some(turn) = turn_id.and_then(|turn| self.find_turn(turn)) else { return };
        let status = self.state.turns[turn].status;
        if !status.is_terminal() && status != Status::Paused {
            self.set_turn_status(turn, Status::WaitingPermission);
        }
    }

    fn wake_turn(&mut self, turn_id: Option<&TurnId>) {
        let Some(turn_id) = turn_id.filter(|turn| !self.state.index.turn_waits(turn)) else { return };
        let Some(turn) = self.find_turn(turn_id) else { return };
        if self.state.turns[turn].status == Status::WaitingPermission {
            self.set_turn_status(turn, Status::Running);
        }
    }

    pub(super) fn set_turn_status(&mut self, turn: usize, status: Status) {
        self.state.turns[turn].status = status;
        let thread_id = self.state.turns[turn].thread_id.clone();
        let thread = self.thread_of(thread_id);
        self.state.threads[thread].status = status;
        self.change(Change::Turn { turn });
    }
}
