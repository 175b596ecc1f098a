//! Blocks that come as a whole: files, pictures and their drafts, tables, short texts.

use riverrun_event::{Block, BlockChange, Item, ItemUpdated, TextBlock};

use super::Step;
use super::item::forget_reference;
use crate::change::{Change, PartAt};
use crate::citation::Scanner;
use crate::problem::ProblemCode;

impl Step<'_> {
    pub(super) fn item_updated(&mut self, updated: &ItemUpdated) {
        let Some(task) = self.live_task() else { return };
        let Some(at) = self.item_by_id(task, &updated.item_id) else {
            return self.problem(ProblemCode::UnknownItem, format!("item `{}`", updated.item_id));
        };
        if !self.state.tasks[task].open.contains(at.item) {
            return self
                .problem(ProblemCode::AfterTerminal, format!("item `{}` was complete", updated.item_id));
        }
        let Some(blocks) = self.state.tasks[task].output[at.item].block_list_mut() else {
            return self
                .problem(ProblemCode::WrongItemType, format!("item `{}` has no blocks", updated.item_id));
        };
        let (index, present) = (updated.block_index as usize, blocks.len());
        let part = PartAt { item: at, part: index.min(present) };
        let before = blocks.get(part.part).and_then(Block::ref_id);
        let from = blocks.get(part.part).and_then(|block| grown_from(block, &updated.block));
        match blocks.get_mut(part.part) {
            Some(block) => block.clone_from(&updated.block),
            None => blocks.push(updated.block.clone()),
        }
        self.recount_reference(part, before, updated.block.ref_id());
        if index > present {
            self.problem(ProblemCode::BlockIndex, format!("block {index} of {present}"));
        }
        self.reset_scanner(part);
        self.cite_unless_annotated(part);
        let from = from.filter(|_| matches!(self.state.tasks[task].output[at.item], Item::ToolResult(_)));
        self.note_block(part, updated, from);
    }

    /// Only results can be cited.
    fn recount_reference(&mut self, at: PartAt, before: Option<u64>, after: Option<u64>) {
        let task = &mut self.state.tasks[at.item.task];
        if !matches!(task.output[at.item.item], Item::ToolResult(_)) {
            return;
        }
        if let Some(number) = before {
            forget_reference(&mut task.references.0, number);
        }
        if let Some(number) = after {
            *task.references.0.entry(number).or_default() += 1;
        }
    }

    fn note_block(&mut self, part: PartAt, updated: &ItemUpdated, from: Option<usize>) {
        // A block that comes again is not final any more.
        self.mark_done(part.item, part.part, updated.change == BlockChange::Done);
        match updated.change {
            BlockChange::Added => self.change(Change::BlockAdded(part)),
            BlockChange::Replaced => {
                self.change(Change::BlockReplaced { at: part, partial: updated.partial_index, from })
            }
            BlockChange::Done => self.change(Change::BlockDone(part)),
        }
    }

    pub(super) fn reset_scanner(&mut self, at: PartAt) {
        let open = self.state.tasks[at.item.task].open.get_mut(at.item.item);
        if let Some(scanner) = open.and_then(|open| open.scanners.0.get_mut(at.part)) {
            *scanner = Default::default();
        }
    }

    /// The scan of a block of an open item.
    fn scanner(&mut self, at: PartAt) -> Option<&mut Scanner> {
        let open = self.state.tasks[at.item.task].open.get_mut(at.item.item)?;
        if open.scanners.0.len() <= at.part {
            open.scanners.0.resize_with(at.part + 1, Default::default);
        }
        open.scanners.0.get_mut(at.part)
    }

    /// Annotations that came with the block are kept; otherwise its citations are found.
    pub(super) fn cite_unless_annotated(&mut self, at: PartAt) {
        if !matches!(self.state.tasks[at.item.task].output[at.item.item], Item::Message(_)) {
            return;
        }
        let scanner = match self.block_mut(at) {
            Some(Block::Text(text)) if text.annotations.is_none() => return self.cite(at),
            Some(block) => Scanner::after(block),
            None => return,
        };
        if let Some(slot) = self.scanner(at) {
            *slot = scanner;
        }
    }
}

/// How long the text was, if the new block is the old one with more text.
fn grown_from(old: &Block, new: &Block) -> Option<usize> {
    let (Block::Text(old), Block::Text(new)) = (old, new) else { return None };
    let same_text = TextBlock { text: new.text.clone(), ..old.clone() };
    (new.text.starts_with(&old.text) && same_text == *new).then_some(old.text.len())
}
