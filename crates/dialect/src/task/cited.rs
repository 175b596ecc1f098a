//! Which annotations of a text that still grows its readers know.
//!
//! It follows from the state before the event: a projector that starts from a snapshot has the same.

use std::collections::{BTreeMap, HashMap};

use riverrun_event::{Annotation, Block, ReferenceToBlock, TaskId};
use riverrun_fold::{PartAt, State};

use super::annotation::{width, write_annotations, write_reference};
use super::part::{block_at, blocks};
use crate::OffsetUnit;
use crate::members::write_list;

/// The text blocks of open items, by task, item and part.
#[derive(Debug, Clone, Default)]
pub(super) struct Cited(HashMap<TaskId, BTreeMap<(usize, usize), Entry>>);

#[derive(Debug, Clone)]
struct Entry {
    /// Annotations that were emitted.
    sent: usize,
    counted: Counted,
}

/// A place in a text, counted in three units. It only moves on, so that a text is counted once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Counted {
    bytes: usize,
    code_points: u64,
    units: u64,
}

/// The annotations that a delta brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct News {
    /// How many of the block's annotations are older.
    sent: usize,
    /// Where the delta begins.
    from: Counted,
}

impl Cited {
    pub(super) fn of(state: &State) -> Self {
        let mut cited = Self::default();
        for task in &state.tasks {
            for open in task.open.iter() {
                let blocks = blocks(&task.output[open.position]);
                for (part, block) in blocks.iter().enumerate() {
                    cited.set(&task.task_id, open.position, part, annotations(block).len());
                }
            }
        }
        cited
    }

    fn set(&mut self, task: &TaskId, item: usize, part: usize, sent: usize) {
        if !self.0.contains_key(task) {
            self.0.insert(task.clone(), BTreeMap::new());
        }
        let entry = Entry { sent, counted: Counted::default() };
        self.0.get_mut(task).and_then(|blocks| blocks.insert((item, part), entry));
    }

    /// A block was emitted with all of its annotations, or with none because its text follows.
    pub(super) fn block(&mut self, state: &State, at: PartAt, with_annotations: bool) {
        let Some(block) = block_at(state, at) else { return };
        let sent = if with_annotations { annotations(block).len() } else { 0 };
        self.set(&state.tasks[at.item.task].task_id, at.item.item, at.part, sent);
    }

    /// The item is complete or withdrawn: it has no more deltas.
    pub(super) fn forget(&mut self, task: &TaskId, item: usize) {
        let Some(blocks) = self.0.get_mut(task) else { return };
        let mut of_item = blocks.split_off(&(item, 0));
        blocks.append(&mut of_item.split_off(&(item + 1, 0)));
        if blocks.is_empty() {
            self.0.remove(task);
        }
    }

    /// What the delta from byte `from` on brought; None if it brought no annotations.
    pub(super) fn delta(&mut self, state: &State, at: PartAt, from: usize, unit: OffsetUnit) -> Option<News> {
        let block = block_at(state, at)?;
        let known = annotations(block).len();
        let task = &state.tasks[at.item.task].task_id;
        let entry = self.0.get_mut(task)?.get_mut(&(at.item.item, at.part))?;
        if entry.sent >= known {
            return None;
        }
        entry.counted.move_to(block.text()?, from, unit);
        let news = News { sent: entry.sent, from: entry.counted };
        entry.sent = known;
        Some(news)
    }
}

impl Counted {
    fn move_to(&mut self, text: &str, bytes: usize, unit: OffsetUnit) {
        for character in text.get(self.bytes..bytes).unwrap_or_default().chars() {
            self.code_points += 1;
            self.units += width(character, unit);
        }
        self.bytes = bytes;
    }
}

impl News {
    /// A marker is ASCII, so it is as wide in every unit; it ends in the delta's own text.
    pub(super) fn write(self, out: &mut String, block: &Block, unit: OffsetUnit) {
        let (text, annotations) = (block.text().unwrap_or_default(), &annotations(block)[self.sent..]);
        if self.from.bytes == 0 || unit == OffsetUnit::CodePoint {
            return write_annotations(out, text, annotations, unit);
        }
        let delta = &text[self.from.bytes..];
        write_list(out, annotations, |out, annotation| match annotation {
            Annotation::ReferenceToBlock(reference) => {
                let (start, end) = self.place_of(reference, delta, unit);
                write_reference(out, reference.reference_id, start, end);
            }
            Annotation::Other(opaque) => out.push_str(opaque.raw.get()),
        });
    }

    fn place_of(self, reference: &ReferenceToBlock, delta: &str, unit: OffsetUnit) -> (u64, u64) {
        let inside = reference.end_index.saturating_sub(self.from.code_points) as usize;
        let end =
            self.from.units + delta.chars().take(inside).map(|character| width(character, unit)).sum::<u64>();
        (end.saturating_sub(reference.end_index.saturating_sub(reference.start_index)), end)
    }
}

fn annotations(block: &Block) -> &[Annotation] {
    match block {
        Block::Text(text) | Block::Html(text) => text.annotations.as_deref().unwrap_or_default(),
        Block::Image(_)
        | Block::File(_)
        | Block::Audio(_)
        | Block::Table(_)
        | Block::Json(_)
        | Block::Item(_)
        | Block::Other(_) => &[],
    }
}
