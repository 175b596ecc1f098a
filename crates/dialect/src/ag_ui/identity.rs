//! The protocol's ids, as functions of the state.

use riverrun_event::{Item, TurnId};
use riverrun_fold::{ItemAt, PartAt, State};

use crate::follow::{answers, begins_step, is_child, item_id};

/// The run's id: the turn's, and a number behind it for each time that it went on after a decision.
pub(super) fn run_id(state: &State, turn: &TurnId) -> String {
    match answers(state, turn) {
        0 => turn.to_string(),
        answers => format!("{turn}.{answers}"),
    }
}

/// `subagentRunId` of what belongs to a task below the root. An id may not come twice in a run, so attempts count.
pub(super) fn subagent(state: &State, task: usize) -> Option<String> {
    let of = &state.tasks[task];
    is_child(state, task).then(|| match of.attempts.len() {
        0 | 1 => of.task_id.to_string(),
        attempts => format!("{}.{attempts}", of.task_id),
    })
}

/// The assistant message that carries a call: the message before it in the same step, else the step's first call.
pub(super) fn parent_message(state: &State, at: ItemAt) -> String {
    let output = &state.tasks[at.task].output;
    let mut parent = at;
    let mut position = at;
    loop {
        match &output[position.item] {
            Item::ToolCall(_) => parent = position,
            Item::Message(_) => {
                parent = position;
                break;
            }
            Item::Reasoning(_)
            | Item::ToolResult(_)
            | Item::Handoff(_)
            | Item::Error(_)
            | Item::Hosted(_)
            | Item::Other(_) => {}
        }
        if position.item == 0 || begins_step(state, position) {
            break;
        }
        position.item -= 1;
    }
    item_id(state, parent)
}

/// The activity that shows a block of a message; the ids of its texts have a bare number there.
pub(super) fn block_id(state: &State, at: PartAt) -> String {
    format!("{}.block{}", item_id(state, at.item), at.part)
}

pub(super) fn step_name(steps: usize) -> String {
    format!("step-{steps}")
}
