//! Items: begun, completed, withdrawn.

use riverrun_event::{Block, Item, ItemCompleted, ItemPatch, ItemRetracted, ItemStarted};

use super::Step;
use super::contents::{PartKind, blocks, contents, has_status, keeps_contents, set_status, status_of};
use crate::change::{Change, ItemAt, PartAt};
use crate::problem::ProblemCode;
use crate::restore::references;

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
        task_state.open.open(at.item);
        self.count(at);
        self.change(Change::ItemAdded(at));
        at
    }

    /// An item that begins again is what it says now.
    fn restart_item(&mut self, at: ItemAt, mut item: Item) -> ItemAt {
        if !has_status(&item) {
            set_status(&mut item, "in_progress");
        }
        self.discount(at);
        let task = &mut self.state.tasks[at.task];
        task.output[at.item] = item;
        task.open.open(at.item);
        task.retracted.remove(&at.item);
        self.count(at);
        self.change(Change::ItemAdded(at));
        at
    }

    /// Enters what others look up in the item: the call that it belongs to, the numbers that it can be cited by.
    fn count(&mut self, at: ItemAt) {
        let task = &mut self.state.tasks[at.task];
        let item = &task.output[at.item];
        self.state.index.add_caller(at.task, item);
        for number in references(item) {
            *task.references.0.entry(number).or_default() += 1;
        }
    }

    /// Takes out what [`Step::count`] entered, before the item changes.
    fn discount(&mut self, at: ItemAt) {
        let task = &mut self.state.tasks[at.task];
        let item = &task.output[at.item];
        self.state.index.remove_caller(at.task, item);
        for number in references(item) {
            forget_reference(&mut task.references.0, number);
        }
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
                if !self.state.tasks[task].open.contains(at.item) {
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
                    let detail =
                        format!("item `{id}` at {}, the next place is {next}", completed.output_index);
                    self.problem(ProblemCode::OutputIndex, detail);
                }
                let at = self.push_item(task, completed.item.clone().into_item());
                self.announce_contents(at);
                at
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
        let keeps = keeps_contents(&patch);
        let before =
            if keeps { Vec::new() } else { blocks(&self.state.tasks[at.task].output[at.item]).to_vec() };
        if !keeps {
            self.discount(at);
        }
        let patched = patch.apply(&mut self.state.tasks[at.task].output[at.item]);
        if !keeps {
            self.count(at);
        }
        if let Err(mismatch) = patched {
            self.problem(ProblemCode::WrongItemType, mismatch.to_string());
            return false;
        }
        if !keeps {
            self.keep_annotations(at, &before);
        }
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
        task.open.close(at.item);
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
        if !task.retracted.insert(at.item) {
            return;
        }
        task.open.close(at.item);
        set_status(&mut task.output[at.item], "incomplete");
        self.change(Change::ItemRetracted(at));
    }

    pub(super) fn is_done(&self, at: ItemAt, part: usize) -> bool {
        let open = self.state.tasks[at.task].open.get(at.item);
        open.is_some_and(|open| open.done.contains(&part))
    }

    pub(super) fn mark_done(&mut self, at: ItemAt, part: usize, is_done: bool) {
        let Some(open) = self.state.tasks[at.task].open.get_mut(at.item) else { return };
        if is_done {
            open.done.insert(part);
        } else {
            open.done.remove(&part);
        }
    }
}

pub(super) fn forget_reference(counts: &mut foldhash::HashMap<u64, usize>, number: u64) {
    if let Some(count) = counts.get_mut(&number) {
        *count -= 1;
        if *count == 0 {
            counts.remove(&number);
        }
    }
}
