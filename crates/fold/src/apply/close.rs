//! The end of turns and tasks: what was open is closed honestly, tasks before their turn.

use riverrun_event::{Item, TurnId};

use super::Step;
use crate::change::{Change, ItemAt};
use crate::problem::ProblemCode;
use crate::state::ActionStatus;
use crate::status::Status;

impl Step<'_> {
    /// The event's task, unless its turn or the task itself has ended: then nothing of it changes any more.
    pub(super) fn live_task(&mut self) -> Option<usize> {
        if self.is_after_the_end() {
            return None;
        }
        let task = self.task();
        let state = &self.state.tasks[task];
        if state.status.is_terminal() {
            let detail = format!("{} after the end of task `{}`", self.event.kind.as_str(), state.task_id);
            self.problem(ProblemCode::AfterTerminal, detail);
            return None;
        }
        Some(task)
    }

    /// True, and told as a problem, if the event's turn has ended.
    pub(super) fn is_after_the_end(&mut self) -> bool {
        let named = self.event.scope.turn_id.as_ref().and_then(|turn| self.find_turn(turn));
        let Some(turn) = named.filter(|turn| self.state.turns[*turn].status.is_terminal()) else {
            return false;
        };
        let detail = format!(
            "{} after the end of turn `{}`",
            self.event.kind.as_str(),
            self.state.turns[turn].turn_id
        );
        self.problem(ProblemCode::AfterTerminal, detail);
        true
    }

    pub(super) fn end_turn(&mut self, turn: usize, outcome: Status) {
        let turn_id = self.state.turns[turn].turn_id.clone();
        let root = self.state.turns[turn].task_id.clone();
        // Children stand after their parents and end before them.
        for task in (0..self.state.tasks.len()).rev() {
            let state = &self.state.tasks[task];
            if state.turn_id.as_ref() != Some(&turn_id) || state.status.is_terminal() {
                continue;
            }
            let is_root = root.as_ref() == Some(&state.task_id);
            let error = self.state.turns[turn].error.clone().filter(|_| is_root);
            self.state.tasks[task].error = error.or(self.state.tasks[task].error.take());
            self.end_task(task, task_outcome(outcome, is_root));
        }
        self.close_tools(&turn_id, outcome);
        self.abandon_actions(&turn_id);
        let state = &mut self.state.turns[turn];
        state.status = outcome;
        state.ended_at = Some(self.event.timestamp);
        let thread_id = state.thread_id.clone();
        let thread = self.thread_of(thread_id);
        let state = &mut self.state.threads[thread];
        state.last_outcome = Some(outcome);
        if state.active_turn_id.as_ref().is_none_or(|active| *active == turn_id) {
            state.status = outcome;
            self.set_active_turn(thread, None);
        }
        self.change(Change::Turn { turn });
    }

    pub(super) fn set_active_turn(&mut self, thread: usize, turn: Option<TurnId>) {
        let active = &mut self.state.threads[thread].active_turn_id;
        let count = &mut self.state.index.active_threads;
        *count = *count + usize::from(turn.is_some()) - usize::from(active.is_some());
        *active = turn;
    }

    /// Ends a task. What was shown stays: a text that was open is complete if the task is, everything else that was
    /// open is incomplete now.
    pub(super) fn end_task(&mut self, task: usize, outcome: Status) {
        let open: Vec<usize> = self.state.tasks[task].open.iter().map(|open| open.position).collect();
        for item in open {
            let is_text =
                matches!(self.state.tasks[task].output[item], Item::Message(_) | Item::Reasoning(_));
            let is_complete = outcome == Status::Completed && is_text;
            self.finish_item(ItemAt { task, item }, if is_complete { "completed" } else { "incomplete" });
        }
        let state = &mut self.state.tasks[task];
        state.status = outcome;
        state.ended_at = Some(self.event.timestamp);
        if let Some(attempt) = state.attempts.last_mut().filter(|attempt| !attempt.status.is_terminal()) {
            attempt.status = outcome;
            attempt.ended_at = Some(self.event.timestamp);
        }
        self.change(Change::TaskStatus { task });
    }

    /// A call whose result never came: stopped if the turn was stopped, else its outcome is unknown.
    fn close_tools(&mut self, turn_id: &TurnId, outcome: Status) {
        for call in 0..self.state.tool_calls.len() {
            let state = &mut self.state.tool_calls[call];
            if state.turn_id.as_ref() != Some(turn_id) || state.status != Status::Running {
                continue;
            }
            state.status = if outcome == Status::Cancelled { Status::Cancelled } else { Status::Unknown };
            state.ended_at = Some(self.event.timestamp);
            self.change(Change::ToolCall { call });
        }
    }

    fn abandon_actions(&mut self, turn_id: &TurnId) {
        for action in 0..self.state.actions.len() {
            let state = &mut self.state.actions[action];
            if state.turn_id.as_ref() == Some(turn_id) && state.status == ActionStatus::Pending {
                self.state.index.remove_pending(state);
                state.status = ActionStatus::Abandoned;
                state.resolved_at = Some(self.event.timestamp);
                self.change(Change::ActionResolved { action });
            }
        }
    }
}

/// A child that nobody ended is lost when its turn ends by itself: neither success nor a stop is a default.
fn task_outcome(turn: Status, is_root: bool) -> Status {
    if is_root || turn == Status::Cancelled { turn } else { Status::Lost }
}
