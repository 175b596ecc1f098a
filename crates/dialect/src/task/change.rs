//! Which frame tells a change.

use riverrun_event::{Block, Event, Item, ItemPatch, Payload};
use riverrun_fold::{Change, ItemAt, PartAt, State, Status};

use super::ahead::Ahead;
use super::cited::Cited;
use super::item::cleared;
use super::part::{arguments_of, block_at, summary_part};
use super::planned_frame::{PlannedFrame, lifecycle};
use super::status::word;
use crate::OffsetUnit;

/// The changes of one event, to be told in the state after it.
pub(super) struct ChangePlanner<'a> {
    state: &'a State,
    event: &'a Event,
    changes: &'a [Change],
    ahead: Ahead,
    unit: OffsetUnit,
}

impl<'a> ChangePlanner<'a> {
    pub(super) fn new(state: &'a State, event: &'a Event, changes: &'a [Change], unit: OffsetUnit) -> Self {
        Self { state, event, changes, ahead: Ahead::of(changes), unit }
    }
}

impl ChangePlanner<'_> {
    /// At most one frame per change, so that the revision of the change numbers it.
    pub(super) fn plan(&self, at: usize, cited: &mut Cited) -> Option<PlannedFrame> {
        match &self.changes[at] {
            Change::TaskCreated { task } => Some(self.task_created(*task)),
            Change::TaskStatus { task } => self.status(at, *task),
            Change::ActionRequired { action } | Change::ActionResolved { action } => self.action(*action),
            Change::ItemAdded(item) => Some(self.item_added(*item, cited)),
            Change::ItemDone(item) => Some(self.item_done(*item, cited)),
            Change::ItemRetracted(item) => {
                cited.forget(&self.state.tasks[item.task].task_id, item.item);
                Some(PlannedFrame::ItemRetracted(*item))
            }
            Change::SummaryAdded(part) => Some(self.summary_added(*part)),
            Change::SummaryText { at, from } => self.summary_text(*at, *from),
            Change::SummaryDone(part) => Some(PlannedFrame::SummaryDone(*part)),
            Change::Arguments { at, from } => self.arguments(*at, *from),
            Change::ArgumentsDone(item) => Some(PlannedFrame::ArgumentsDone(*item)),
            // The words of a hosted item are another dialect's.
            Change::BlockAdded(part)
            | Change::BlockText { at: part, .. }
            | Change::BlockReplaced { at: part, .. }
            | Change::BlockDone(part)
                if self.is_hosted(part.item) =>
            {
                None
            }
            // A block that comes whole is one `done`.
            Change::BlockAdded(part) | Change::BlockText { at: part, .. }
                if self.ahead.is_block_done(*part) =>
            {
                None
            }
            Change::BlockAdded(part) => Some(self.block_added(*part, cited)),
            Change::BlockText { at, from } => self.block_text(*at, *from, cited),
            Change::BlockReplaced { at, partial, from } => self.block_replaced(*at, *partial, *from, cited),
            Change::BlockDone(part) => Some(self.block_done(*part, cited)),
            // Turns are seen through their tasks, calls through their items; AgentLin has no words for the rest.
            Change::TurnSealed(_)
            | Change::Session
            | Change::Thread { .. }
            | Change::Turn { .. }
            | Change::ReasoningText { .. }
            | Change::ToolCall { .. }
            | Change::Queue
            | Change::Usage
            | Change::Agent
            | Change::Ledger
            | Change::Problem => None,
        }
    }

    fn is_hosted(&self, at: ItemAt) -> bool {
        matches!(self.state.tasks[at.task].output[at.item], Item::Hosted(_))
    }

    /// Says the status too, unless a frame of its own follows for it.
    fn task_created(&self, task: usize) -> PlannedFrame {
        let status = self.state.tasks[task].status;
        let has_later_status = self.ahead.last_status(task).is_some() && word(status).frame != "task.created";
        let status = if has_later_status { Status::Accepted } else { status };
        PlannedFrame::Lifecycle { task, frame: "task.created", status }
    }

    /// Only the last status of the event is told, and none that `task.created` has told.
    fn status(&self, at: usize, task: usize) -> Option<PlannedFrame> {
        let planned_frame = lifecycle(self.state, task);
        let is_covered = self.ahead.is_created(task)
            && matches!(planned_frame, PlannedFrame::Lifecycle { frame: "task.created", .. });
        (self.ahead.last_status(task) == Some(at) && !is_covered).then_some(planned_frame)
    }

    /// What waits is told on the outermost task, unless its status changed too: then that frame has it.
    fn action(&self, action: usize) -> Option<PlannedFrame> {
        let root = self.state.actions[action].root_task_id.as_ref()?;
        let task = self.state.tasks.iter().position(|task| task.task_id == *root)?;
        self.ahead.last_status(task).is_none().then(|| lifecycle(self.state, task))
    }

    fn item_added(&self, at: ItemAt, cited: &mut Cited) -> PlannedFrame {
        cited.forget(&self.state.tasks[at.task].task_id, at.item);
        PlannedFrame::ItemAdded { at, is_done_too: self.ahead.is_item_done(at) }
    }

    fn item_done(&self, at: ItemAt, cited: &mut Cited) -> PlannedFrame {
        cited.forget(&self.state.tasks[at.task].task_id, at.item);
        let patch = match &self.event.payload {
            Ok(Payload::ItemCompleted(completed)) => Some(&completed.item),
            Ok(_) | Err(_) => None,
        };
        let has_blocks = !is_embedded(self.state, at) || patch.is_some_and(sets_blocks);
        PlannedFrame::ItemDone { at, has_blocks, cleared: patch.map(cleared).unwrap_or_default() }
    }

    fn summary_added(&self, at: PartAt) -> PlannedFrame {
        let pending_text = if self.ahead.is_summary_done(at) { Some(0) } else { self.ahead.summary_text(at) };
        PlannedFrame::SummaryAdded { at, shown: pending_text.unwrap_or(usize::MAX) }
    }

    /// A delta without text tells nothing, nor does one whose whole follows at once.
    fn summary_text(&self, at: PartAt, from: usize) -> Option<PlannedFrame> {
        let text = summary_part(self.state, at)?.text()?;
        let is_covered = from == text.len() || self.ahead.is_summary_done(at);
        (!is_covered).then_some(PlannedFrame::SummaryText { at, from })
    }

    fn arguments(&self, at: ItemAt, from: usize) -> Option<PlannedFrame> {
        let arguments = arguments_of(&self.state.tasks[at.task].output[at.item]);
        let is_covered = from == arguments.len() || self.ahead.are_arguments_done(at);
        (!is_covered).then_some(PlannedFrame::Arguments { at, from })
    }

    fn block_text(&self, at: PartAt, from: usize, cited: &mut Cited) -> Option<PlannedFrame> {
        let block = block_at(self.state, at)?;
        let text = block.text().or_else(|| block.base64())?;
        let news = cited.delta(self.state, at, from, self.unit);
        (from < text.len() || news.is_some()).then_some(PlannedFrame::BlockText { at, from, news })
    }

    fn block_added(&self, at: PartAt, cited: &mut Cited) -> PlannedFrame {
        let shown = self.ahead.block_text(at);
        cited.block(self.state, at, shown.is_none());
        PlannedFrame::BlockAdded { at, shown }
    }

    /// `added` on a block that is there replaces it; a numbered draft of a picture has a frame of its own, and a text
    /// that only grew is a delta.
    fn block_replaced(
        &self,
        at: PartAt,
        partial: Option<u32>,
        from: Option<usize>,
        cited: &mut Cited,
    ) -> Option<PlannedFrame> {
        if let Some(from) = from {
            return self.block_text(at, from, cited);
        }
        cited.block(self.state, at, true);
        match (block_at(self.state, at), partial) {
            (Some(Block::Image(_)), Some(number)) => Some(PlannedFrame::Draft { at, number }),
            (Some(_) | None, _) => Some(PlannedFrame::BlockAdded { at, shown: None }),
        }
    }

    fn block_done(&self, at: PartAt, cited: &mut Cited) -> PlannedFrame {
        cited.block(self.state, at, true);
        PlannedFrame::BlockDone(at)
    }
}

fn sets_blocks(patch: &ItemPatch) -> bool {
    match patch {
        ItemPatch::ToolResult(patch) => !patch.block_list.is_keep(),
        ItemPatch::Message(patch) => !patch.block_list.is_keep(),
        ItemPatch::Reasoning(_)
        | ItemPatch::ToolCall(_)
        | ItemPatch::Handoff(_)
        | ItemPatch::Error(_)
        | ItemPatch::Hosted(_)
        | ItemPatch::Other(_) => false,
    }
}

/// True if a child task's output is shown inside this item.
pub(super) fn is_embedded(state: &State, at: ItemAt) -> bool {
    let Item::ToolResult(result) = &state.tasks[at.task].output[at.item] else { return false };
    let parent = &state.tasks[at.task].task_id;
    state.tasks.iter().any(|task| {
        task.parent_task_id.as_ref() == Some(parent) && super::object::call_of(task) == result.call_id
    })
}
