//! What a reader without a state is told first.

use riverrun_event::Item;
use riverrun_fold::{ItemAt, PartAt, State, Status, TaskState};

use super::change::is_embedded;
use super::part::blocks;
use super::planned_frame::{PlannedFrame, lifecycle};
use super::status::word;

/// Tells the tasks of the window: first all of them with their items, parents before children, then how they stand,
/// children before parents, so that the end of a task is the last that is told of it and of those below it.
///
/// There is never more to tell than there were changes: every frame here stands for at least one change of its own.
/// So the frames can be numbered up to the state's revision, and the tail goes on behind it.
pub(super) fn plan(state: &State) -> Vec<PlannedFrame> {
    let mut planned = Vec::new();
    for (at, task) in state.tasks.iter().enumerate() {
        let status = if has_own_frame(task.status) { Status::Accepted } else { task.status };
        planned.push(PlannedFrame::Lifecycle { task: at, frame: "task.created", status });
        for item in 0..task.output.len() {
            plan_item(state, ItemAt { task: at, item }, &mut planned);
        }
    }
    for (at, task) in state.tasks.iter().enumerate().rev() {
        if has_own_frame(task.status) {
            planned.push(lifecycle(state, at));
        }
    }
    planned
}

/// `task.created` can carry that a task is created or working; everything else has its own frame.
fn has_own_frame(status: Status) -> bool {
    !matches!(word(status).status, "created" | "working")
}

fn plan_item(state: &State, at: ItemAt, planned: &mut Vec<PlannedFrame>) {
    let task = &state.tasks[at.task];
    let is_open = task.open.contains(at.item);
    let is_retracted = task.retracted.contains(&at.item);
    planned.push(PlannedFrame::ItemAdded { at, is_done_too: !is_open });
    let is_embedded = is_embedded(state, at);
    if is_open || is_retracted || is_embedded {
        plan_parts(task, at, planned);
    }
    if is_retracted {
        planned.push(PlannedFrame::ItemRetracted(at));
    } else if !is_open {
        planned.push(PlannedFrame::ItemDone { at, has_blocks: !is_embedded, cleared: Vec::new() });
    }
}

/// Each part in one frame: `done` if it is final, else `added` with what there is of it.
fn plan_parts(task: &TaskState, at: ItemAt, planned: &mut Vec<PlannedFrame>) {
    let open = task.open.get(at.item);
    let is_done = |part: usize| open.is_none_or(|open| open.done.contains(&part));
    match &task.output[at.item] {
        Item::Reasoning(item) => {
            for part in 0..item.summary.as_ref().map_or(0, Vec::len) {
                let part_at = PartAt { item: at, part };
                planned.push(match is_done(part) {
                    true => PlannedFrame::SummaryDone(part_at),
                    false => PlannedFrame::SummaryAdded { at: part_at, shown: usize::MAX },
                });
            }
        }
        Item::ToolCall(item) if !item.arguments.is_empty() => {
            planned.push(PlannedFrame::Arguments { at, from: 0 })
        }
        Item::Message(_) | Item::ToolResult(_) => {
            for part in 0..blocks(&task.output[at.item]).len() {
                let part_at = PartAt { item: at, part };
                planned.push(match is_done(part) {
                    true => PlannedFrame::BlockDone(part_at),
                    false => PlannedFrame::BlockAdded { at: part_at, shown: None },
                });
            }
        }
        Item::ToolCall(_) | Item::Handoff(_) | Item::Error(_) | Item::Hosted(_) | Item::Other(_) => {}
    }
}
