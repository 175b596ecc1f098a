//! The whole of a turn so far, in an order that a reader could have seen.

use std::collections::BTreeSet;

use riverrun_event::{Item, TurnId};
use riverrun_fold::{ItemAt, State};

use super::happening::Happening;
use super::read::{is_child, parent_call, tasks_of};
use super::sync::Sync;

impl Sync<'_> {
    /// Tells the tasks of a turn: a child's output where its parent waits for it, an action behind its call.
    pub(super) fn whole_turn(&mut self, turn: &TurnId) {
        let mut seen = BTreeSet::new();
        let state = self.state;
        if state.turns.iter().any(|known| known.turn_id == *turn && !known.files.is_empty()) {
            self.out.push(Happening::Files);
        }
        let roots = tasks_of(state, turn).filter(|(at, _)| !is_child(state, *at));
        for (task, _) in roots.collect::<Vec<_>>() {
            self.whole_task(task, turn, &mut seen);
        }
        // A child whose parent is not here.
        for (task, _) in tasks_of(state, turn) {
            self.whole_task(task, turn, &mut seen);
        }
        for action in 0..state.actions.len() {
            if state.actions[action].turn_id.as_ref() == Some(turn) {
                self.action(action);
            }
        }
    }

    fn whole_task(&mut self, task: usize, turn: &TurnId, seen: &mut BTreeSet<usize>) {
        if !seen.insert(task) {
            return;
        }
        let state = self.state;
        let is_child = is_child(state, task);
        if is_child {
            self.task_started(task);
        }
        for (position, item) in state.tasks[task].output.iter().enumerate() {
            let at = ItemAt { task, item: position };
            if let Item::ToolResult(result) = item {
                self.actions_of(&result.call_id, task, turn);
                for child in children(state, task, Some(&result.call_id)) {
                    self.whole_task(child, turn, seen);
                }
            }
            self.item(at);
        }
        for child in children(state, task, None) {
            self.whole_task(child, turn, seen);
        }
        for action in 0..state.actions.len() {
            let asked = &state.actions[action];
            let is_here = asked.task_id.as_ref() == Some(&state.tasks[task].task_id);
            if is_here && asked.turn_id.as_ref() == Some(turn) {
                self.action(action);
            }
        }
        if is_child {
            self.task_ended(task);
        }
    }

    fn actions_of(&mut self, call: &str, task: usize, turn: &TurnId) {
        let state = self.state;
        for (at, action) in state.actions.iter().enumerate() {
            let is_named = action.tool_call_id.as_ref().is_some_and(|id| id.as_str() == call);
            let is_here = action.task_id.as_ref().is_none_or(|id| *id == state.tasks[task].task_id);
            if is_named && is_here && action.turn_id.as_ref() == Some(turn) {
                self.action(at);
            }
        }
    }
}

fn children(state: &State, task: usize, call: Option<&str>) -> Vec<usize> {
    let parent = &state.tasks[task].task_id;
    let is_wanted = |(at, child): &(usize, &riverrun_fold::TaskState)| {
        *at != task
            && child.parent_task_id.as_ref() == Some(parent)
            && call.is_none_or(|call| parent_call(child) == call)
    };
    state.tasks.iter().enumerate().filter(is_wanted).map(|(at, _)| at).collect()
}
