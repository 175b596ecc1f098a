//! Where a turn stands for a reader: a function of the state.

use riverrun_event::{Item, TurnId};
use riverrun_fold::{Action, ActionStatus, State, Status, Task, Turn};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Not known, or waiting for its start.
    Absent,
    Running,
    /// A decision is waited for and nothing streams.
    Paused,
    Ended,
}

pub(crate) fn phase(state: &State, turn: &Turn) -> Phase {
    if turn.status.is_terminal() {
        return Phase::Ended;
    }
    let is_waiting_to_start =
        matches!(turn.status, Status::Unknown | Status::Accepted | Status::Queued | Status::Draft);
    if is_waiting_to_start && tasks_of(state, &turn.turn_id).all(|(_, task)| task.output.is_empty()) {
        return Phase::Absent;
    }
    let is_streaming = tasks_of(state, &turn.turn_id).any(|(_, task)| streams(task));
    if !is_streaming && pending(state, &turn.turn_id).next().is_some() {
        return Phase::Paused;
    }
    Phase::Running
}

/// A result that is open shows nothing yet, so it may wait.
fn streams(task: &Task) -> bool {
    task.open.iter().any(|open| {
        task.output
            .get(open.position)
            .is_some_and(|item| matches!(item, Item::Message(_) | Item::Reasoning(_) | Item::ToolCall(_)))
    })
}

/// The tasks of a turn with their positions, parents before children.
pub(crate) fn tasks_of<'a>(state: &'a State, turn: &'a TurnId) -> impl Iterator<Item = (usize, &'a Task)> {
    state.tasks.iter().enumerate().filter(move |(_, task)| task.turn_id.as_ref() == Some(turn))
}

/// The decisions that a turn waits for, oldest first.
pub(crate) fn pending<'a>(state: &'a State, turn: &'a TurnId) -> impl Iterator<Item = &'a Action> {
    let is_waited_for = move |action: &&Action| {
        action.status == ActionStatus::Pending && action.turn_id.as_ref() == Some(turn)
    };
    state.actions.iter().filter(is_waited_for)
}
