//! The phase of a turn for a reader: a function of the state.

use riverrun_event::{Item, ToolCallItem, TurnId};
use riverrun_fold::{ActionState, ActionStatus, AttemptState, State, Status, TaskState, ToolCall, TurnState};

use super::read::{parent_call, root};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Not known, or waiting for its start.
    Absent,
    Running,
    /// A decision is waited for, and nothing of the turn comes before it.
    Paused,
    Ended,
}

pub(crate) fn phase(state: &State, turn: &TurnState) -> Phase {
    if turn.status.is_terminal() {
        return Phase::Ended;
    }
    let is_waiting_to_start =
        matches!(turn.status, Status::Unknown | Status::Accepted | Status::Queued | Status::Draft);
    if is_waiting_to_start && tasks_of(state, &turn.turn_id).all(|(_, task)| task.output.is_empty()) {
        return Phase::Absent;
    }
    let is_streaming = tasks_of(state, &turn.turn_id).any(|(_, task)| streams(task));
    let is_root_idle =
        || root(state, &turn.turn_id).is_none_or(|(_, task)| is_idle(state, &turn.turn_id, task));
    if !is_streaming && pending(state, &turn.turn_id).next().is_some() && is_root_idle() {
        return Phase::Paused;
    }
    Phase::Running
}

/// True if the task goes on only after a decision: each of its open calls waits for one, itself or in its sub-agent.
/// A call beside them that may run is still to be emitted, and a reader that left at the pause would miss it. One that
/// nobody runs must not keep a reader from deciding: if it runs after all, the turn goes on behind the pause.
fn is_idle(state: &State, turn: &TurnId, task: &TaskState) -> bool {
    let asks = |action: &ActionState| action.task_id.as_ref().is_none_or(|id| *id == task.task_id);
    let mut calls = unanswered(task).peekable();
    if calls.peek().is_none() {
        return pending(state, turn).any(asks);
    }
    calls.all(|call| {
        let is_gated =
            |action: &ActionState| action.tool_call_id.as_ref().is_some_and(|id| id.as_str() == call.call_id);
        let is_its = |child: &TaskState| {
            child.parent_task_id.as_ref() == Some(&task.task_id) && parent_call(child) == call.call_id
        };
        let mut children = tasks_of(state, turn).filter(|(_, child)| is_its(child)).peekable();
        pending(state, turn).any(is_gated)
            || (children.peek().is_none() && is_left(state, task, call))
            || children.any(|(_, child)| !child.status.is_terminal() && is_idle(state, turn, child))
    })
}

/// True for a call without evidence that it runs. The hosted runner runs every call that it may; of others only
/// what they say is known.
fn is_left(state: &State, task: &TaskState, call: &ToolCallItem) -> bool {
    let is_hosted = task.attempts.last().is_some_and(AttemptState::is_hosted);
    let is_it = |known: &&ToolCall| known.tool_call_id.as_str() == call.call_id;
    let emitted = state.tool_calls.iter().rev().find(is_it);
    let is_at_work = emitted.is_some_and(|emitted| {
        emitted.started_at.is_some() && !matches!(emitted.status, Status::Failed | Status::Cancelled)
    });
    !is_hosted && !is_at_work
}

/// The calls of a task that were made and have no result yet. One that was never finished gets none.
fn unanswered(task: &TaskState) -> impl Iterator<Item = &ToolCallItem> {
    let is_answered = |call: &ToolCallItem| {
        task.output.iter().enumerate().any(|(at, item)| {
            matches!(item, Item::ToolResult(result) if result.call_id == call.call_id)
                && !task.open.contains(at)
        })
    };
    task.output.iter().enumerate().filter_map(move |(at, item)| match item {
        Item::ToolCall(call)
            if !task.retracted.contains(&at)
                && matches!(call.status.as_deref(), None | Some("completed"))
                && !is_answered(call) =>
        {
            Some(call)
        }
        _ => None,
    })
}

/// A result that is open shows nothing yet, so it may wait.
fn streams(task: &TaskState) -> bool {
    task.open.iter().any(|open| {
        task.output
            .get(open.position)
            .is_some_and(|item| matches!(item, Item::Message(_) | Item::Reasoning(_) | Item::ToolCall(_)))
    })
}

/// The tasks of a turn with their positions, parents before children.
pub(crate) fn tasks_of<'a>(
    state: &'a State,
    turn: &'a TurnId,
) -> impl Iterator<Item = (usize, &'a TaskState)> {
    state.tasks.iter().enumerate().filter(move |(_, task)| task.turn_id.as_ref() == Some(turn))
}

/// The decisions that a turn waits for, oldest first.
pub(crate) fn pending<'a>(state: &'a State, turn: &'a TurnId) -> impl Iterator<Item = &'a ActionState> {
    let is_waited_for = move |action: &&ActionState| {
        action.status == ActionStatus::Pending && action.turn_id.as_ref() == Some(turn)
    };
    state.actions.iter().filter(is_waited_for)
}
