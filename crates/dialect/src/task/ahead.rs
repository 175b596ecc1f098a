//! What else an event changes.
//!
//! Changes are told in the state after their event. What another change of the same event tells must not be told
//! twice, so a change has to know of the others, however many there are.

use std::collections::{HashMap, HashSet};

use riverrun_fold::{Change, ItemAt, PartAt};

/// Empty, and free, for the events that make one change.
#[derive(Default)]
pub(super) struct Ahead {
    blocks_done: HashSet<PartKey>,
    summaries_done: HashSet<PartKey>,
    /// Where the text begins that a delta of this event tells, in bytes.
    block_texts: HashMap<PartKey, usize>,
    summary_texts: HashMap<PartKey, usize>,
    arguments_done: HashSet<(usize, usize)>,
    items_done: HashSet<(usize, usize)>,
    tasks_created: HashSet<usize>,
    /// The last change of a task's status, as a position in the changes.
    statuses: HashMap<usize, usize>,
}

type PartKey = (usize, usize, usize);

fn key(at: PartAt) -> PartKey {
    (at.item.task, at.item.item, at.part)
}

impl Ahead {
    pub(super) fn of(changes: &[Change]) -> Self {
        let mut ahead = Self::default();
        for (position, change) in changes.iter().enumerate() {
            // A change that is alone has nothing to look for, but its own status.
            if changes.len() > 1 || matches!(change, Change::TaskStatus { .. }) {
                ahead.note(position, change);
            }
        }
        ahead
    }

    fn note(&mut self, position: usize, change: &Change) {
        match change {
            Change::BlockDone(at) => drop(self.blocks_done.insert(key(*at))),
            Change::SummaryDone(at) => drop(self.summaries_done.insert(key(*at))),
            Change::BlockText { at, from } => drop(self.block_texts.insert(key(*at), *from)),
            Change::SummaryText { at, from } => drop(self.summary_texts.insert(key(*at), *from)),
            Change::ArgumentsDone(at) => drop(self.arguments_done.insert((at.task, at.item))),
            Change::ItemDone(at) => drop(self.items_done.insert((at.task, at.item))),
            Change::TaskCreated { task } => drop(self.tasks_created.insert(*task)),
            Change::TaskStatus { task } => drop(self.statuses.insert(*task, position)),
            Change::TurnSealed(_)
            | Change::Session
            | Change::Thread { .. }
            | Change::Turn { .. }
            | Change::ItemAdded(_)
            | Change::SummaryAdded(_)
            | Change::ReasoningText { .. }
            | Change::Arguments { .. }
            | Change::BlockAdded(_)
            | Change::BlockReplaced { .. }
            | Change::ItemRetracted(_)
            | Change::ToolCall { .. }
            | Change::ActionRequired { .. }
            | Change::ActionResolved { .. }
            | Change::Queue
            | Change::Usage
            | Change::Agent
            | Change::Ledger
            | Change::Problem => {}
        }
    }

    pub(super) fn is_block_done(&self, at: PartAt) -> bool {
        self.blocks_done.contains(&key(at))
    }

    pub(super) fn is_summary_done(&self, at: PartAt) -> bool {
        self.summaries_done.contains(&key(at))
    }

    pub(super) fn are_arguments_done(&self, at: ItemAt) -> bool {
        self.arguments_done.contains(&(at.task, at.item))
    }

    pub(super) fn is_item_done(&self, at: ItemAt) -> bool {
        self.items_done.contains(&(at.task, at.item))
    }

    pub(super) fn is_created(&self, task: usize) -> bool {
        self.tasks_created.contains(&task)
    }

    pub(super) fn block_text(&self, at: PartAt) -> Option<usize> {
        self.block_texts.get(&key(at)).copied()
    }

    pub(super) fn summary_text(&self, at: PartAt) -> Option<usize> {
        self.summary_texts.get(&key(at)).copied()
    }

    pub(super) fn last_status(&self, task: usize) -> Option<usize> {
        self.statuses.get(&task).copied()
    }
}
