//! Blocks that come as a whole: files, pictures and their drafts, tables, short texts.

use riverrun_event::{Block, BlockChange, Item, ItemUpdated};

use super::Step;
use crate::change::{Change, PartAt};
use crate::problem::ProblemCode;

impl Step<'_> {
    pub(super) fn item_updated(&mut self, updated: &ItemUpdated) {
        let Some(task) = self.live_task() else { return };
        let Some(at) = self.item_by_id(task, &updated.item_id) else {
            return self.problem(ProblemCode::UnknownItem, format!("item `{}`", updated.item_id));
        };
        if !self.state.tasks[task].open.iter().any(|open| open.position == at.item) {
            return self.problem(ProblemCode::AfterTerminal, format!("item `{}` was complete", updated.item_id));
        }
        let Some(blocks) = self.state.tasks[task].output[at.item].block_list_mut() else {
            return self.problem(ProblemCode::WrongItemType, format!("item `{}` has no blocks", updated.item_id));
        };
        let (index, present) = (updated.block_index as usize, blocks.len());
        let part = PartAt { item: at, part: index.min(present) };
        match blocks.get_mut(part.part) {
            Some(block) => block.clone_from(&updated.block),
            None => blocks.push(updated.block.clone()),
        }
        if index > present {
            self.problem(ProblemCode::BlockIndex, format!("block {index} of {present}"));
        }
        self.reset_scanner(part);
        self.cite_unless_annotated(part);
        self.tell_block(part, updated);
    }

    fn tell_block(&mut self, part: PartAt, updated: &ItemUpdated) {
        match updated.change {
            BlockChange::Added => self.change(Change::BlockAdded(part)),
            BlockChange::Replaced => self.change(Change::BlockReplaced { at: part, partial: updated.partial_index }),
            BlockChange::Done => {
                self.mark_done(part.item, part.part);
                self.change(Change::BlockDone(part));
            }
        }
    }

    pub(super) fn reset_scanner(&mut self, at: PartAt) {
        let open = self.state.tasks[at.item.task].open.iter_mut().rev().find(|open| open.position == at.item.item);
        if let Some(scanner) = open.and_then(|open| open.scanners.0.get_mut(at.part)) {
            *scanner = Default::default();
        }
    }

    /// Annotations that came with the block are kept; otherwise its citations are found.
    pub(super) fn cite_unless_annotated(&mut self, at: PartAt) {
        let is_message = matches!(self.state.tasks[at.item.task].output[at.item.item], Item::Message(_));
        let plain = |block: &mut Block| matches!(block, Block::Text(text) if text.annotations.is_none());
        if is_message && self.block_mut(at).is_some_and(plain) {
            self.cite(at);
        }
    }
}
