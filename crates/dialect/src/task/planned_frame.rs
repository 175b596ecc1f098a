//! One `task.*` frame, before and after it has a number.

use riverrun_event::{Block, Item, Timestamp};
use riverrun_fold::{ItemAt, PartAt, State, Status, TaskState};

use super::block::{write_begun, write_block, write_summary_part};
use super::cited::News;
use super::item::{Audience, Body, ItemForm, write_item, written_id};
use super::lifecycle::write_summary;
use super::part::{arguments_of, block_at, frames_of, place_of, summary_part};
use super::status::word;
use crate::OffsetUnit;
use crate::members::Members;

/// What a frame tells, as places in the state.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum PlannedFrame {
    /// `status` is what the frame says, which for an opening may be an earlier one than the task's own.
    Lifecycle {
        task: usize,
        frame: &'static str,
        status: Status,
    },
    ItemAdded {
        at: ItemAt,
        is_done_too: bool,
    },
    ItemDone {
        at: ItemAt,
        has_blocks: bool,
        cleared: Vec<&'static str>,
    },
    ItemRetracted(ItemAt),
    /// `shown`: how much of the text stands in this frame, in bytes.
    SummaryAdded {
        at: PartAt,
        shown: usize,
    },
    SummaryText {
        at: PartAt,
        from: usize,
    },
    SummaryDone(PartAt),
    Arguments {
        at: ItemAt,
        from: usize,
    },
    ArgumentsDone(ItemAt),
    /// `shown`: how much of the text stands in this frame, if the rest follows.
    BlockAdded {
        at: PartAt,
        shown: Option<usize>,
    },
    BlockText {
        at: PartAt,
        from: usize,
        news: Option<News>,
    },
    /// A draft of a picture, whole.
    Draft {
        at: PartAt,
        number: u32,
    },
    BlockDone(PartAt),
}

/// What every frame begins with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    /// `sequence_number`.
    pub(super) number: u64,
    pub(super) timestamp: Timestamp,
    /// The frame repeats what the log told earlier, for a reader without a state.
    pub(super) is_replay: bool,
}

pub(super) struct Writer<'a> {
    pub(super) state: &'a State,
    pub(super) unit: OffsetUnit,
}

impl Writer<'_> {
    pub(super) fn write(&self, out: &mut String, head: Head, planned_frame: &PlannedFrame) {
        match planned_frame {
            PlannedFrame::Lifecycle { task, frame, status } => {
                self.lifecycle(out, head, frame, *task, *status)
            }
            PlannedFrame::ItemAdded { at, is_done_too } => self.item_added(out, head, *at, *is_done_too),
            PlannedFrame::ItemDone { at, has_blocks, cleared } => {
                self.item_done(out, head, *at, *has_blocks, cleared)
            }
            PlannedFrame::ItemRetracted(at) => self.item_retracted(out, head, *at),
            PlannedFrame::SummaryAdded { at, shown } => {
                self.summary(out, head, "task.reasoning_summary_item.added", *at, *shown);
            }
            PlannedFrame::SummaryText { at, from } => self.summary_text(out, head, *at, *from),
            PlannedFrame::SummaryDone(at) => {
                self.summary(out, head, "task.reasoning_summary_item.done", *at, usize::MAX);
            }
            PlannedFrame::Arguments { at, from } => self.arguments(out, head, *at, *from),
            PlannedFrame::ArgumentsDone(at) => self.arguments_done(out, head, *at),
            PlannedFrame::BlockAdded { at, shown } => self.block_added(out, head, *at, *shown),
            PlannedFrame::BlockText { at, from, news } => self.block_text(out, head, *at, *from, *news),
            PlannedFrame::Draft { at, number } => self.draft(out, head, *at, *number),
            PlannedFrame::BlockDone(at) => self.block_done(out, head, *at),
        }
    }

    fn task(&self, at: ItemAt) -> &TaskState {
        &self.state.tasks[at.task]
    }

    fn item(&self, at: ItemAt) -> &Item {
        &self.state.tasks[at.task].output[at.item]
    }

    fn lifecycle(&self, out: &mut String, head: Head, frame: &str, task: usize, status: Status) {
        let task = &self.state.tasks[task];
        let mut members = begin(out, head, frame, task);
        members.with("task", |out| {
            let mut members = Members::open(out);
            write_summary(&mut members, task, &self.state.actions, status);
            members.close();
        });
        members.close();
    }

    fn item_added(&self, out: &mut String, head: Head, at: ItemAt, is_done_too: bool) {
        let form = ItemForm {
            body: Body::Skeleton,
            status: is_done_too.then_some("in_progress"),
            ..ItemForm::whole(Audience::User, self.unit)
        };
        let mut members = begin(out, head, "task.output_item.added", self.task(at));
        members.number("output_index", at.item as u64);
        members.with("item", |out| write_item(out, self.item(at), &form));
        members.close();
    }

    fn item_done(
        &self,
        out: &mut String,
        head: Head,
        at: ItemAt,
        has_blocks: bool,
        cleared: &[&'static str],
    ) {
        let body = if has_blocks { Body::Whole } else { Body::WithoutBlocks };
        let form = ItemForm { body, cleared, ..ItemForm::whole(Audience::User, self.unit) };
        let mut members = begin(out, head, "task.output_item.done", self.task(at));
        members.number("output_index", at.item as u64);
        members.with("item", |out| write_item(out, self.item(at), &form));
        members.close();
    }

    fn item_retracted(&self, out: &mut String, head: Head, at: ItemAt) {
        let mut members = begin(out, head, "task.output_item.retracted", self.task(at));
        if let Some(id) = written_id(self.item(at)) {
            members.text("item_id", &id);
        }
        members.number("output_index", at.item as u64);
        members.close();
    }

    fn summary(&self, out: &mut String, head: Head, frame: &str, at: PartAt, shown: usize) {
        let Some(part) = summary_part(self.state, at) else { return };
        let mut members = self.begin_part(out, head, frame, at, "summary_index");
        members.with("item", |out| write_summary_part(out, part, shown, self.unit));
        members.close();
    }

    fn summary_text(&self, out: &mut String, head: Head, at: PartAt, from: usize) {
        let text = summary_part(self.state, at).and_then(Block::text).unwrap_or_default();
        let mut members =
            self.begin_part(out, head, "task.reasoning_summary_text.delta", at, "summary_index");
        members.text("delta", text.get(from..).unwrap_or_default());
        members.close();
    }

    fn arguments(&self, out: &mut String, head: Head, at: ItemAt, from: usize) {
        let mut members = self.begin_item(out, head, "task.tool_call_arguments.delta", at);
        members.text("delta", arguments_of(self.item(at)).get(from..).unwrap_or_default());
        members.close();
    }

    fn arguments_done(&self, out: &mut String, head: Head, at: ItemAt) {
        let mut members = self.begin_item(out, head, "task.tool_call_arguments.done", at);
        members.text("arguments", arguments_of(self.item(at)));
        members.close();
    }

    fn block_added(&self, out: &mut String, head: Head, at: PartAt, shown: Option<usize>) {
        let Some(block) = block_at(self.state, at) else { return };
        let block_place = place_of(self.item(at.item));
        let mut members = self.begin_part(out, head, frames_of(block).added, at, "block_index");
        members.with("item", |out| match shown.zip(block.text()) {
            Some((shown, text)) => {
                write_begun(out, block, text.get(..shown).unwrap_or(text), block_place, self.unit)
            }
            None => write_block(out, block, block_place, self.unit),
        });
        members.close();
    }

    fn block_text(&self, out: &mut String, head: Head, at: PartAt, from: usize, news: Option<News>) {
        let Some(block) = block_at(self.state, at) else { return };
        let mut members = self.begin_part(out, head, frames_of(block).delta, at, "block_index");
        let text = block.text().or_else(|| block.base64());
        members.text("delta", text.and_then(|text| text.get(from..)).unwrap_or_default());
        if let Some(news) = news {
            members.with("annotations", |out| news.write(out, block, self.unit));
        }
        members.close();
    }

    fn draft(&self, out: &mut String, head: Head, at: PartAt, number: u32) {
        let Some(block) = block_at(self.state, at) else { return };
        let mut members = self.begin_part(out, head, "task.image.delta", at, "block_index");
        members.number("partial_image_index", number.into());
        members.with("item", |out| write_block(out, block, place_of(self.item(at.item)), self.unit));
        members.close();
    }

    fn block_done(&self, out: &mut String, head: Head, at: PartAt) {
        let Some(block) = block_at(self.state, at) else { return };
        let mut members = self.begin_part(out, head, frames_of(block).done, at, "block_index");
        members.with("item", |out| write_block(out, block, place_of(self.item(at.item)), self.unit));
        members.close();
    }

    fn begin_item<'o>(&self, out: &'o mut String, head: Head, frame: &str, at: ItemAt) -> Members<'o> {
        let mut members = begin(out, head, frame, self.task(at));
        if let Some(id) = written_id(self.item(at)) {
            members.text("item_id", &id);
        }
        members.number("output_index", at.item as u64);
        members
    }

    fn begin_part<'o>(
        &self,
        out: &'o mut String,
        head: Head,
        frame: &str,
        at: PartAt,
        index: &str,
    ) -> Members<'o> {
        let mut members = self.begin_item(out, head, frame, at.item);
        members.number(index, at.part as u64);
        members
    }
}

fn begin<'o>(out: &'o mut String, head: Head, frame: &str, task: &TaskState) -> Members<'o> {
    let mut members = Members::open(out);
    members.text("type", frame);
    members.number("sequence_number", head.number);
    members.with("timestamp", |out| {
        out.push('"');
        head.timestamp.write(out);
        out.push('"');
    });
    members.text("task_id", task.task_id.as_str());
    if head.is_replay {
        members.raw("replay", "true");
    }
    members
}

/// The frame that says a task's status.
pub(super) fn lifecycle(state: &State, task: usize) -> PlannedFrame {
    let status = state.tasks[task].status;
    PlannedFrame::Lifecycle { task, frame: word(status).frame, status }
}
