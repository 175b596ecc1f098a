//! A state read back from its JSON form: what is derived is derived again.

use riverrun_event::{Block, Item, SessionId};

use crate::citation::Scanner;
use crate::index::Index;
use crate::state::{State, Task};

impl State {
    /// The state before the first event.
    pub fn new(session_id: SessionId) -> Self {
        Self { session_id: Some(session_id), ..Self::default() }
    }

    /// Reads a snapshot. Going on from it gives what going on from the original would.
    pub fn from_json(json: &str) -> Result<Self, serde_json::Error> {
        let mut state: State = serde_json::from_str(json)?;
        for task in &mut state.tasks {
            task.restore();
        }
        state.ledger.name_edges();
        state.rebuild_index();
        Ok(state)
    }

    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a state has string keys and no fallible parts")
    }

    pub(crate) fn rebuild_index(&mut self) {
        self.index = Index::of(self);
    }
}

impl Task {
    fn restore(&mut self) {
        let ids =
            self.output.iter().enumerate().filter_map(|(at, item)| item.id().map(|id| (id.into_owned(), at)));
        self.positions.0 = ids.collect();
        self.references.0.clear();
        for item in &self.output {
            references(item).for_each(|number| *self.references.0.entry(number).or_default() += 1);
        }
        let items = self.output.len();
        self.open.retain(|position| position < items);
        for open in self.open.iter_mut() {
            let Item::Message(message) = &self.output[open.position] else { continue };
            open.scanners.0 = message.block_list.iter().flatten().map(Scanner::after).collect();
        }
    }
}

/// The numbers by which the blocks and parts of a result are cited.
pub(crate) fn references(item: &Item) -> impl Iterator<Item = u64> {
    let (content, blocks) = match item {
        Item::ToolResult(result) => (result.content.as_deref(), result.block_list.as_deref()),
        Item::Message(_)
        | Item::Reasoning(_)
        | Item::ToolCall(_)
        | Item::Handoff(_)
        | Item::Error(_)
        | Item::Other(_) => (None, None),
    };
    content.unwrap_or_default().iter().chain(blocks.unwrap_or_default()).filter_map(Block::ref_id)
}
