//! A model call, as the items of the root task show it.

use riverrun_event::Item;
use riverrun_fold::{ItemAt, State, Status, TaskState, ToolCall};

use super::item::is_broken_off;
use crate::follow::{EncodeContext, turn};

/// The items from `first` on that a model made, up to the next result.
#[derive(Debug, Clone)]
pub(super) struct Response {
    pub(super) first: ItemAt,
    /// Its raw events are the service's own.
    pub(super) is_original: bool,
    /// How many of its raw events were rebuilt.
    pub(super) rebuilt: u64,
}

/// How a model call ended, if it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Open,
    Completed,
    /// The run rejected the model's output: its items are not emitted.
    Unusable,
    Failed,
}

impl End {
    pub(super) fn status(self) -> &'static str {
        match self {
            End::Open => "in_progress",
            End::Completed | End::Unusable => "completed",
            End::Failed => "failed",
        }
    }
}

impl Response {
    /// The model call that the item at this place came of. Items before `context` are of an earlier one.
    pub(super) fn of(state: &State, at: ItemAt, emitted_items: usize) -> Self {
        let before = &state.tasks[at.task].output[..at.item];
        let first = before.iter().rposition(is_border).map_or(0, |border| border + 1);
        let first = ItemAt { task: at.task, item: first.max(emitted_items.min(at.item)) };
        Self { first, is_original: false, rebuilt: 0 }
    }

    /// The number of the next rebuilt event.
    pub(super) fn next_number(&mut self) -> u64 {
        self.rebuilt += 1;
        self.rebuilt - 1
    }

    /// An item's position in the response, without retracted items and items that have no event.
    pub(super) fn output_index(&self, state: &State, at: ItemAt) -> u64 {
        self.remaining_items(state, None)
            .filter(|remaining| remaining.item < at.item)
            .filter(|at| is_rebuilt(state, *at))
            .count() as u64
    }

    fn task<'a>(&self, state: &'a State) -> &'a TaskState {
        &state.tasks[self.first.task]
    }

    /// The places of its items, those that were taken back too.
    pub(super) fn items<'a>(&self, state: &'a State) -> impl Iterator<Item = ItemAt> + use<'a> {
        let task = self.first.task;
        let output = state.tasks[task].output.iter().enumerate().skip(self.first.item);
        output.take_while(|(_, item)| !is_border(item)).map(move |(item, _)| ItemAt { task, item })
    }

    /// Those that were not taken back, and `also`.
    pub(super) fn remaining_items<'a>(
        &self,
        state: &'a State,
        also: Option<ItemAt>,
    ) -> impl Iterator<Item = ItemAt> + use<'a> {
        let retracted = &state.tasks[self.first.task].retracted;
        self.items(state).filter(move |at| !retracted.contains(&at.item) || also == Some(*at))
    }

    /// True if every item that was not taken back came to its end.
    pub(super) fn is_whole(&self, state: &State) -> bool {
        let task = self.task(state);
        self.remaining_items(state, None)
            .all(|at| !task.open.contains(at.item) && !is_broken_off(&task.output[at.item]))
    }

    /// True once something came of it: a call runs, somebody is asked, a sub-agent works, or its last item was taken
    /// back.
    pub(super) fn is_over(&self, state: &State) -> bool {
        let task = self.task(state);
        if !self.is_whole(state) {
            return false;
        }
        let is_taken_back = self.items(state).last().is_some_and(|at| task.retracted.contains(&at.item));
        is_taken_back
            || self.remaining_items(state, None).any(|at| match &task.output[at.item] {
                Item::ToolCall(call) => has_consequence(state, task, &call.call_id),
                Item::Message(_) | Item::Reasoning(_) | Item::Other(_) | Item::Error(_) | Item::Hosted(_) => {
                    false
                }
                Item::ToolResult(_) | Item::Handoff(_) => false,
            })
    }
}

/// False for what rebuilt events leave out.
pub(super) fn is_rebuilt(state: &State, at: ItemAt) -> bool {
    !matches!(state.tasks[at.task].output[at.item], Item::Hosted(_))
}

/// Items that no model makes separate model calls.
fn is_border(item: &Item) -> bool {
    match item {
        Item::ToolResult(_) | Item::Handoff(_) => true,
        Item::Message(message) => message.role.as_deref() == Some("user"),
        Item::Reasoning(_) | Item::ToolCall(_) | Item::Error(_) | Item::Hosted(_) | Item::Other(_) => false,
    }
}

fn has_consequence(state: &State, task: &TaskState, call: &str) -> bool {
    // A call that ended with its run and never began has no consequence.
    let is_left = |known: &ToolCall| known.status == Status::Cancelled && known.started_at.is_none();
    let runs = state.tool_calls.iter().rev().any(|known| {
        known.tool_call_id.as_str() == call
            && known.task_id.as_ref().is_none_or(|id| *id == task.task_id)
            && !is_left(known)
    });
    let asked = || {
        let of_call = |id: &riverrun_event::ToolCallId| id.as_str() == call;
        state.actions.iter().rev().any(|action| action.tool_call_id.as_ref().is_some_and(of_call))
    };
    let works = || {
        state.tasks.iter().any(|child| {
            child.parent_task_id.as_ref() == Some(&task.task_id)
                && child.parent_tool_call_id.as_ref().is_some_and(|id| id.as_str() == call)
        })
    };
    runs || asked() || works()
}

/// How the turn's end ends the model call that is under way; None if it is just not there any more.
pub(super) fn end(context: &EncodeContext<'_>) -> Option<End> {
    let turn = turn(context.state, context.turn)?;
    match (turn.status, turn.error.as_ref().and_then(|error| error.code.as_deref())) {
        (Status::Completed | Status::Archived, _) => Some(End::Completed),
        (Status::Cancelled, _) => None,
        // A guardrail refused the model's output; the model itself did not fail.
        (_, Some("guardrail_tripped")) => Some(End::Completed),
        (_, Some("unknown_tool")) => Some(End::Unusable),
        _ => Some(End::Failed),
    }
}

/// True for a result that no tool gave: the run failed or is cancelled, and its open calls are closed. The SDK does not
/// stream these.
pub(super) fn only_closes(context: &EncodeContext<'_>, at: ItemAt) -> bool {
    let task = &context.state.tasks[at.task];
    let Item::ToolResult(result) = &task.output[at.item] else { return false };
    let is_unread = result.is_error == Some(true) && is_broken_off(&task.output[at.item]);
    let of_turn = turn(context.state, context.turn).map(|turn| turn.status);
    let is_failed = task.attempts.last().is_some_and(|attempt| attempt.status == Status::Failed);
    let is_over = |status: Status| status == Status::Cancelling || is_unsuccessful(status);
    is_unread && (is_failed || is_over(task.status) || of_turn.is_some_and(is_over))
}

fn is_unsuccessful(status: Status) -> bool {
    matches!(status, Status::Cancelled | Status::TimedOut | Status::Failed | Status::Lost)
}
