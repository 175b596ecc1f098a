//! Looks up parts of a turn in the state.

use riverrun_event::{ModelCompleted, TurnId};
use riverrun_fold::{Change, ItemAt, State, TaskState, TurnState};

use super::Stop;

/// The task that answers the turn: the one that the turn names, else the outermost that names the turn.
pub(super) fn root_of<'a>(state: &'a State, turn: &TurnState) -> Option<&'a TaskState> {
    let named = state.tasks.iter().find(|task| Some(&task.task_id) == turn.task_id.as_ref());
    let is_outermost =
        |task: &&TaskState| task.turn_id.as_ref() == Some(&turn.turn_id) && task.parent_task_id.is_none();
    named.or_else(|| state.tasks.iter().find(is_outermost))
}

pub(super) fn position_of(state: &State, task: Option<&TaskState>) -> Option<usize> {
    let task = task?;
    state.tasks.iter().position(|known| known.task_id == task.task_id)
}

/// Why the last model call of the turn stopped, as far as the state knows.
pub(crate) fn stop_of(state: &State, turn: &TurnId) -> Stop {
    let completed = completed_of(state, turn);
    completed.and_then(|completed| completed.stop_reason).as_deref().map(Stop::parse).unwrap_or_default()
}

/// How the last model call of the turn ended, as far as the state knows.
pub(super) fn completed_of(state: &State, turn: &TurnId) -> Option<ModelCompleted> {
    let family = state.ledger.family("model");
    let entries = family.into_iter().flat_map(|family| family.entries.iter().rev());
    let mut completed =
        entries.filter(|entry| entry.kind == "model.completed" && entry.turn_id.as_ref() == Some(turn));
    completed.next().and_then(|entry| entry.payload.as_ref())?.to().ok()
}

/// The item that a change is about.
pub(super) fn item_of(change: &Change) -> Option<ItemAt> {
    match change {
        Change::ItemAdded(at)
        | Change::Arguments { at, .. }
        | Change::ArgumentsDone(at)
        | Change::ItemDone(at)
        | Change::ItemRetracted(at) => Some(*at),
        Change::SummaryAdded(at)
        | Change::SummaryText { at, .. }
        | Change::SummaryDone(at)
        | Change::ReasoningText { at, .. }
        | Change::BlockAdded(at)
        | Change::BlockText { at, .. }
        | Change::BlockReplaced { at, .. }
        | Change::BlockDone(at) => Some(at.item),
        Change::TurnSealed(_)
        | Change::Session
        | Change::Thread { .. }
        | Change::Turn { .. }
        | Change::TaskCreated { .. }
        | Change::TaskStatus { .. }
        | Change::ToolCall { .. }
        | Change::ActionRequired { .. }
        | Change::ActionResolved { .. }
        | Change::Queue
        | Change::Usage
        | Change::Agent
        | Change::Ledger
        | Change::Problem => None,
    }
}
