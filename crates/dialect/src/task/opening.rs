//! What a reader without a state is told first.

use riverrun_event::Item;
use riverrun_fold::{ItemAt, PartAt, State, Status, Task};

use super::change::is_embedded;
use super::part::blocks;
use super::status::word;
use super::telling::{Telling, lifecycle};

/// Tells the tasks of the window: first all of them with their items, parents before children, then how they stand,
/// children before parents, so that the end of a task is the last that is told of it and of those below it.
///
/// There is never more to tell than there were changes: every frame here stands for at least one change of its own.
/// So the frames can be numbered up to the state's revision, and the tail goes on behind it.
pub(super) fn tell(state: &State) -> Vec<Telling> {
    let mut told = Vec::new();
    for (at, task) in state.tasks.iter().enumerate() {
        let status = if is_told_apart(task.status) { Status::Accepted } else { task.status };
        told.push(Telling::Lifecycle { task: at, frame: "task.created", status });
        for item in 0..task.output.len() {
            tell_item(state, ItemAt { task: at, item }, &mut told);
        }
    }
    for (at, task) in state.tasks.iter().enumerate().rev() {
        if is_told_apart(task.status) {
            told.push(lifecycle(state, at));
        }
    }
    told
}

/// `task.created` can carry that a task is created or working; everything else has its own frame.
fn is_told_apart(status: Status) -> bool {
    !matches!(word(status).status, "created" | "working")
}

fn tell_item(state: &State, at: ItemAt, told: &mut Vec<Telling>) {
    let task = &state.tasks[at.task];
    let is_open = task.open.contains(at.item);
    let is_retracted = task.retracted.contains(&at.item);
    told.push(Telling::ItemAdded { at, is_done_too: !is_open });
    let is_embedded = is_embedded(state, at);
    if is_open || is_retracted || is_embedded {
        tell_parts(task, at, told);
    }
    if is_retracted {
        told.push(Telling::ItemRetracted(at));
    } else if !is_open {
        told.push(Telling::ItemDone { at, has_blocks: !is_embedded, cleared: Vec::new() });
    }
}

/// Each part in one frame: `done` if it is final, else `added` with what there is of it.
fn tell_parts(task: &Task, at: ItemAt, told: &mut Vec<Telling>) {
    let open = task.open.get(at.item);
    let is_done = |part: usize| open.is_none_or(|open| open.done.contains(&part));
    match &task.output[at.item] {
        Item::Reasoning(item) => {
            for part in 0..item.summary.as_ref().map_or(0, Vec::len) {
                let place = PartAt { item: at, part };
                told.push(match is_done(part) {
                    true => Telling::SummaryDone(place),
                    false => Telling::SummaryAdded { at: place, shown: usize::MAX },
                });
            }
        }
        Item::ToolCall(item) if !item.arguments.is_empty() => told.push(Telling::Arguments { at, from: 0 }),
        Item::Message(_) | Item::ToolResult(_) => {
            for part in 0..blocks(&task.output[at.item]).len() {
                let place = PartAt { item: at, part };
                told.push(match is_done(part) {
                    true => Telling::BlockDone(place),
                    false => Telling::BlockAdded { at: place, shown: None },
                });
            }
        }
        Item::ToolCall(_) | Item::Handoff(_) | Item::Error(_) | Item::Hosted(_) | Item::Other(_) => {}
    }
}
