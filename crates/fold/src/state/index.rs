//! Places by id and counts, derived from the state: every event finds what it is about without a search.

use std::collections::BTreeMap;

use foldhash::HashMap;
use riverrun_event::{ActionId, Item, TaskId, ThreadId, ToolCallId, TurnId};

use super::{ActionState, ActionStatus, State};

#[derive(Debug, Clone, Default)]
pub(crate) struct Index {
    pub tasks: HashMap<TaskId, usize>,
    pub turns: HashMap<TurnId, usize>,
    pub threads: HashMap<ThreadId, usize>,
    pub actions: HashMap<ActionId, usize>,
    /// The newest call with the id.
    pub calls: HashMap<ToolCallId, usize>,
    pub calls_of_tasks: HashMap<(ToolCallId, Option<TaskId>), usize>,
    /// The tasks whose output has a call or a result with this call id, and how many.
    callers: HashMap<String, BTreeMap<usize, usize>>,
    /// Pending actions: of the session, of each turn, and of each task that waits for them.
    pub pending: usize,
    pending_by_turn: HashMap<TurnId, usize>,
    pending_by_task: HashMap<TaskId, usize>,
    /// Threads with an active turn.
    pub active_threads: usize,
}

impl PartialEq for Index {
    /// It follows from the rest of the state.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Index {
    pub fn of(state: &State) -> Self {
        let mut index = Index {
            tasks: positions_by_key(&state.tasks, |task| task.task_id.clone()),
            turns: positions_by_key(&state.turns, |turn| turn.turn_id.clone()),
            threads: positions_by_key(&state.threads, |thread| thread.thread_id.clone()),
            actions: positions_by_key(&state.actions, |action| action.action_id.clone()),
            calls: positions_by_key(&state.tool_calls, |call| call.tool_call_id.clone()),
            calls_of_tasks: positions_by_key(&state.tool_calls, |call| {
                (call.tool_call_id.clone(), call.task_id.clone())
            }),
            active_threads: state.threads.iter().filter(|thread| thread.active_turn_id.is_some()).count(),
            ..Index::default()
        };
        for (task, state) in state.tasks.iter().enumerate() {
            state.output.iter().for_each(|item| index.add_caller(task, item));
        }
        for action in state.actions.iter().filter(|action| action.status == ActionStatus::Pending) {
            index.add_pending(action);
        }
        index
    }

    pub fn add_caller(&mut self, task: usize, item: &Item) {
        if let Some(call) = call_id(item) {
            *self.callers.entry(call.to_owned()).or_default().entry(task).or_default() += 1;
        }
    }

    pub fn remove_caller(&mut self, task: usize, item: &Item) {
        let Some(tasks) = call_id(item).and_then(|call| self.callers.get_mut(call)) else { return };
        let Some(count) = tasks.get_mut(&task) else { return };
        *count -= 1;
        if *count == 0 {
            tasks.remove(&task);
        }
    }

    /// Everything that it holds, to compare two of them; equality itself leaves it out.
    #[cfg(test)]
    pub fn facts(&self) -> impl PartialEq + std::fmt::Debug {
        let callers: BTreeMap<_, _> = self.callers.iter().filter(|(_, tasks)| !tasks.is_empty()).collect();
        let callers = format!("{callers:?}");
        let positions = (self.tasks.clone(), self.turns.clone(), self.threads.clone(), self.actions.clone());
        let calls = (self.calls.clone(), self.calls_of_tasks.clone(), callers);
        let counts =
            (self.pending, self.pending_by_turn.clone(), self.pending_by_task.clone(), self.active_threads);
        (positions, calls, counts)
    }

    /// The newest task whose output has this call.
    pub fn caller(&self, call: &str) -> Option<usize> {
        self.callers.get(call)?.last_key_value().map(|(task, _)| *task)
    }

    pub fn add_pending(&mut self, action: &ActionState) {
        self.pending += 1;
        if let Some(turn) = &action.turn_id {
            *self.pending_by_turn.entry(turn.clone()).or_default() += 1;
        }
        for task in waiting_tasks(action) {
            *self.pending_by_task.entry(task.clone()).or_default() += 1;
        }
    }

    pub fn remove_pending(&mut self, action: &ActionState) {
        self.pending -= 1;
        if let Some(turn) = &action.turn_id {
            decrease(&mut self.pending_by_turn, turn);
        }
        for task in waiting_tasks(action) {
            decrease(&mut self.pending_by_task, task);
        }
    }

    pub fn turn_waits(&self, turn: &TurnId) -> bool {
        self.pending_by_turn.contains_key(turn)
    }

    /// How many decisions a turn waits for.
    pub fn waits_in(&self, turn: &TurnId) -> usize {
        self.pending_by_turn.get(turn).copied().unwrap_or(0)
    }

    pub fn task_waits(&self, task: &TaskId) -> bool {
        self.pending_by_task.contains_key(task)
    }
}

fn positions_by_key<T, K: std::hash::Hash + Eq>(of: &[T], key: impl Fn(&T) -> K) -> HashMap<K, usize> {
    of.iter().enumerate().map(|(at, entry)| (key(entry), at)).collect()
}

/// An action makes its own task wait and the outermost one, which may be the same.
fn waiting_tasks(action: &ActionState) -> impl Iterator<Item = &TaskId> {
    let root = action.root_task_id.as_ref().filter(|root| action.task_id.as_ref() != Some(*root));
    action.task_id.iter().chain(root)
}

fn decrease<K: std::hash::Hash + Eq>(counts: &mut HashMap<K, usize>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}

pub(crate) fn call_id(item: &Item) -> Option<&str> {
    match item {
        Item::ToolCall(item) => Some(&item.call_id),
        Item::ToolResult(item) => Some(&item.call_id),
        Item::Message(_)
        | Item::Reasoning(_)
        | Item::Handoff(_)
        | Item::Error(_)
        | Item::Hosted(_)
        | Item::Other(_) => None,
    }
}
