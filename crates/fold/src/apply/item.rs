//! Items: begun, completed, withdrawn.

use riverrun_event::{Block, Item, ItemCompleted, ItemPatch, ItemRetracted, ItemStarted};

use super::Step;
use crate::change::{Change, ItemAt, PartAt};
use crate::problem::ProblemCode;
use crate::state::OpenItem;

/// The kinds of items that deltas and results go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemKind {
    Message,
    Reasoning,
    ToolCall,
    ToolResult,
}

impl ItemKind {
    pub(super) fn of(item: &Item) -> Option<Self> {
        match item {
            Item::Message(_) => Some(ItemKind::Message),
            Item::Reasoning(_) => Some(ItemKind::Reasoning),
            Item::ToolCall(_) => Some(ItemKind::ToolCall),
            Item::ToolResult(_) => Some(ItemKind::ToolResult),
            Item::Handoff(_) | Item::Error(_) | Item::Other(_) => None,
        }
    }

    /// Of the ids of items that nobody named.
    pub(super) fn prefix(self) -> &'static str {
        match self {
            ItemKind::Message => "msg_",
            ItemKind::Reasoning => "rs_",
            ItemKind::ToolCall => "fc_",
            ItemKind::ToolResult => "fco_",
        }
    }
}

pub(super) fn set_status(item: &mut Item, status: &str) {
    let field = match item {
        Item::Message(item) => &mut item.status,
        Item::Reasoning(item) => &mut item.status,
        Item::ToolCall(item) => &mut item.status,
        Item::ToolResult(item) => &mut item.status,
        Item::Handoff(_) | Item::Error(_) | Item::Other(_) => return,
    };
    *field = Some(status.to_owned());
}

fn has_status(item: &Item) -> bool {
    match item {
        Item::Message(item) => item.status.is_some(),
        Item::Reasoning(item) => item.status.is_some(),
        Item::ToolCall(item) => item.status.is_some(),
        Item::ToolResult(item) => item.status.is_some(),
        Item::Handoff(_) | Item::Error(_) | Item::Other(_) => true,
    }
}

impl Step<'_> {
    pub(super) fn item_started(&mut self, started: &ItemStarted) {
        let Some(task) = self.live_task() else { return };
        let Some(id) = started.item.id() else {
            return self.problem(ProblemCode::Malformed, "the item has no id");
        };
        let at = match self.item_by_id(task, &id) {
            Some(at) => self.restart_item(at, started.item.clone()),
            None => {
                let next = self.state.tasks[task].output.len();
                if started.output_index as usize != next {
                    let detail = format!("item `{id}` at {}, the next place is {next}", started.output_index);
                    self.problem(ProblemCode::OutputIndex, detail);
                }
                self.push_item(task, started.item.clone())
            }
        };
        self.announce_contents(at);
    }

    /// Puts a new item at the end of the output, open.
    pub(super) fn push_item(&mut self, task: usize, mut item: Item) -> ItemAt {
        if !has_status(&item) {
            set_status(&mut item, "in_progress");
        }
        let task_state = &mut self.state.tasks[task];
        let at = ItemAt { task, item: task_state.output.len() };
        if let Some(id) = item.id().map(|id| id.into_owned()) {
            task_state.positions.0.insert(id, at.item);
        }
        task_state.output.push(item);
        task_state.open.push(OpenItem { position: at.item, done: Vec::new(), scanners: Default::default() });
        self.change(Change::ItemAdded(at));
        at
    }

    /// An item that begins again is what it says now.
    fn restart_item(&mut self, at: ItemAt, mut item: Item) -> ItemAt {
        if !has_status(&item) {
            set_status(&mut item, "in_progress");
        }
        let task = &mut self.state.tasks[at.task];
        task.output[at.item] = item;
        task.open.retain(|open| open.position != at.item);
        task.open.push(OpenItem { position: at.item, done: Vec::new(), scanners: Default::default() });
        self.change(Change::ItemAdded(at));
        at
    }

    /// An item may begin with contents: they are told like contents that came later.
    fn announce_contents(&mut self, at: ItemAt) {
        let contents = contents(&self.state.tasks[at.task].output[at.item]);
        for part in 0..contents.parts {
            let part = PartAt { item: at, part };
            match contents.kind {
                PartKind::Block => self.announce_block(part),
                PartKind::Summary => {
                    self.change(Change::SummaryAdded(part));
                    self.change(Change::SummaryText { at: part, from: 0 });
                }
                PartKind::Arguments => self.change(Change::Arguments { at, from: 0 }),
            }
        }
    }

    fn announce_block(&mut self, part: PartAt) {
        self.change(Change::BlockAdded(part));
        if self.block_mut(part).and_then(Block::text_mut).is_some_and(|text| !text.is_empty()) {
            self.change(Change::BlockText { at: part, from: 0 });
            self.cite_unless_annotated(part);
        }
    }

    pub(super) fn item_completed(&mut self, completed: &ItemCompleted) {
        let Some(task) = self.live_task() else { return };
        let Some(id) = completed.item.id() else {
            return self.problem(ProblemCode::Malformed, "the item has no id");
        };
        let found = self.item_by_id(task, &id);
        let at = match found {
            Some(at) => {
                if !self.state.tasks[task].open.iter().any(|open| open.position == at.item) {
                    return self.problem(ProblemCode::AlreadyEnded, format!("item `{id}` was complete"));
                }
                if !self.patch_item(at, completed.item.clone()) {
                    return;
                }
                at
            }
            None => {
                let next = self.state.tasks[task].output.len();
                if completed.output_index as usize != next {
                    let detail = format!("item `{id}` at {}, the next place is {next}", completed.output_index);
                    self.problem(ProblemCode::OutputIndex, detail);
                }
                self.push_item(task, completed.item.clone().into_item())
            }
        };
        let status = match status_of(&completed.item) {
            Some(status) => status,
            None => "completed".to_owned(),
        };
        self.finish_item(at, &status);
    }

    /// Merges: an absent field keeps, a present one replaces, null clears. False if the types differ.
    fn patch_item(&mut self, at: ItemAt, patch: ItemPatch) -> bool {
        let item = &mut self.state.tasks[at.task].output[at.item];
        let before = blocks(item).to_vec();
        if let Err(mismatch) = patch.apply(item) {
            self.problem(ProblemCode::WrongItemType, mismatch.to_string());
            return false;
        }
        self.keep_annotations(at, &before);
        true
    }

    /// A text that was only confirmed keeps the annotations that were found in it.
    fn keep_annotations(&mut self, at: ItemAt, before: &[Block]) {
        let count = blocks(&self.state.tasks[at.task].output[at.item]).len();
        for part in 0..count {
            let part_at = PartAt { item: at, part };
            let old = before.get(part);
            let Some(Block::Text(new)) = self.block_mut(part_at) else { continue };
            match old {
                Some(Block::Text(old)) if old.text == new.text => {
                    if new.annotations.is_none() {
                        new.annotations.clone_from(&old.annotations);
                    }
                }
                Some(_) | None => {
                    self.reset_scanner(part_at);
                    self.cite_unless_annotated(part_at);
                }
            }
        }
    }

    /// Closes what is open in the item, then the item.
    pub(super) fn finish_item(&mut self, at: ItemAt, status: &str) {
        let contents = contents(&self.state.tasks[at.task].output[at.item]);
        for part in 0..contents.parts {
            if self.is_done(at, part) {
                continue;
            }
            let part_at = PartAt { item: at, part };
            match contents.kind {
                PartKind::Block => self.change(Change::BlockDone(part_at)),
                PartKind::Summary => self.change(Change::SummaryDone(part_at)),
                PartKind::Arguments => self.change(Change::ArgumentsDone(at)),
            }
        }
        let task = &mut self.state.tasks[at.task];
        set_status(&mut task.output[at.item], status);
        task.open.retain(|open| open.position != at.item);
        self.change(Change::ItemDone(at));
    }

    pub(super) fn item_retracted(&mut self, retracted: &ItemRetracted) {
        let Some(task) = self.find_task() else {
            return self.problem(ProblemCode::UnknownItem, format!("item `{}`", retracted.item_id));
        };
        let Some(at) = self.item_by_id(task, &retracted.item_id) else {
            return self.problem(ProblemCode::UnknownItem, format!("item `{}`", retracted.item_id));
        };
        let task = &mut self.state.tasks[task];
        if task.retracted.contains(&at.item) {
            return;
        }
        task.retracted.push(at.item);
        task.open.retain(|open| open.position != at.item);
        set_status(&mut task.output[at.item], "incomplete");
        self.change(Change::ItemRetracted(at));
    }

    pub(super) fn is_done(&self, at: ItemAt, part: usize) -> bool {
        let open = self.state.tasks[at.task].open.iter().rev().find(|open| open.position == at.item);
        open.is_some_and(|open| open.done.contains(&part))
    }

    pub(super) fn mark_done(&mut self, at: ItemAt, part: usize) {
        let open = self.state.tasks[at.task].open.iter_mut().rev().find(|open| open.position == at.item);
        if let Some(open) = open.filter(|open| !open.done.contains(&part)) {
            open.done.push(part);
        }
    }
}

enum PartKind {
    Block,
    Summary,
    Arguments,
}

struct Contents {
    kind: PartKind,
    parts: usize,
}

fn contents(item: &Item) -> Contents {
    match item {
        Item::Reasoning(item) => {
            Contents { kind: PartKind::Summary, parts: item.summary.as_ref().map_or(0, Vec::len) }
        }
        Item::ToolCall(item) => Contents { kind: PartKind::Arguments, parts: usize::from(!item.arguments.is_empty()) },
        Item::Message(_) | Item::ToolResult(_) => Contents { kind: PartKind::Block, parts: blocks(item).len() },
        Item::Handoff(_) | Item::Error(_) | Item::Other(_) => Contents { kind: PartKind::Block, parts: 0 },
    }
}

fn blocks(item: &Item) -> &[Block] {
    match item {
        Item::Message(item) => item.block_list.as_deref().unwrap_or_default(),
        Item::ToolResult(item) => item.block_list.as_deref().unwrap_or_default(),
        Item::Reasoning(_) | Item::ToolCall(_) | Item::Handoff(_) | Item::Error(_) | Item::Other(_) => &[],
    }
}

fn status_of(patch: &ItemPatch) -> Option<String> {
    match patch {
        ItemPatch::Message(patch) => patch.status.as_set().cloned(),
        ItemPatch::Reasoning(patch) => patch.status.as_set().cloned(),
        ItemPatch::ToolCall(patch) => patch.status.as_set().cloned(),
        ItemPatch::ToolResult(patch) => patch.status.as_set().cloned(),
        ItemPatch::Handoff(_) | ItemPatch::Error(_) | ItemPatch::Other(_) => None,
    }
}
