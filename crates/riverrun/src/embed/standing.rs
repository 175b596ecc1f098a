//! Where a run stands, read from the folded state.

use riverrun_event::{Item, TurnId};
use riverrun_fold::{ActionState, ActionStatus, State, TaskState, TurnState};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    Running,
    /// Nothing happens until somebody decides.
    Paused,
    Ended,
}

pub(super) fn turn<'a>(state: &'a State, id: &TurnId) -> Option<&'a TurnState> {
    state.turns.iter().find(|turn| turn.turn_id == *id)
}

pub(super) fn pending<'a>(state: &'a State, id: &'a TurnId) -> impl Iterator<Item = &'a ActionState> {
    let of_turn = move |action: &&ActionState| action.turn_id.as_ref() == Some(id);
    state.actions.iter().filter(|action| action.status == ActionStatus::Pending).filter(of_turn)
}

pub(super) fn has_ended(state: &State, id: &TurnId) -> bool {
    turn(state, id).is_some_and(|turn| turn.status.is_terminal())
}

pub(super) fn standing(state: &State, id: &TurnId) -> Standing {
    let Some(turn) = turn(state, id) else { return Standing::Running };
    if turn.status.is_terminal() {
        return Standing::Ended;
    }
    if pending(state, id).next().is_none() {
        return Standing::Running;
    }
    let root = state.tasks.iter().find(|task| Some(&task.task_id) == turn.task_id.as_ref());
    match root {
        Some(root) if waits(state, root) => Standing::Paused,
        Some(_) | None => Standing::Running,
    }
}

/// A task waits when each call without a result needs a decision, or belongs to a sub-agent that waits. While a
/// sibling runs, or one is about to, it does not.
fn waits(state: &State, task: &TaskState) -> bool {
    let is_open = |place: usize| task.open.iter().any(|open| open.position == place);
    let is_answered = |id: &str| {
        task.output.iter().enumerate().any(|(place, item)| match item {
            Item::ToolResult(result) => result.call_id == id && !is_open(place),
            _ => false,
        })
    };
    let mut calls = task.output.iter().enumerate().filter_map(|(place, item)| match item {
        Item::ToolCall(call) if !is_answered(&call.call_id) => Some((place, call.call_id.as_str())),
        _ => None,
    });
    let mut waits = false;
    let all = calls.all(|(place, id)| {
        waits = true;
        !is_open(place)
            && (is_pending(state, task, id) || child(state, task, id).is_some_and(|it| waits_in(state, it)))
    });
    all && waits
}

fn waits_in(state: &State, task: &TaskState) -> bool {
    !task.status.is_terminal() && waits(state, task)
}

fn is_pending(state: &State, task: &TaskState, call: &str) -> bool {
    state.actions.iter().any(|action| {
        action.status == ActionStatus::Pending
            && action.task_id.as_ref() == Some(&task.task_id)
            && action.tool_call_id.as_ref().is_some_and(|id| id.as_str() == call)
    })
}

fn child<'a>(state: &'a State, task: &TaskState, call: &str) -> Option<&'a TaskState> {
    state.tasks.iter().rev().find(|child| {
        child.parent_task_id.as_ref() == Some(&task.task_id)
            && child.parent_tool_call_id.as_ref().is_some_and(|id| id.as_str() == call)
    })
}
