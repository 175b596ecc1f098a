//! A state read back from its JSON form: what is derived is derived again.

use riverrun_event::{Block, Item, SessionId};

use crate::citation::Scanner;
use crate::state::{Index, SealedTurn, State, TaskState};

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

    /// The state as JSON, which [`State::from_json`] reads.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a state has string keys and no fallible parts")
    }

    /// Puts turns back that left the window, for a reader of more than the window has, and keeps `room` finished turns
    /// besides those of the window from now on. What the state holds already is left as it is.
    pub fn put_back(&mut self, sealed: Vec<SealedTurn>, room: usize) {
        self.room = room;
        let mut back = sealed;
        back.retain(|sealed| self.turns.iter().all(|turn| turn.turn_id != sealed.turn.turn_id));
        back.sort_by_key(|sealed| sealed.turn.first_sequence);
        back.dedup_by(|later, earlier| later.turn.turn_id == earlier.turn.turn_id);
        self.sealed_turns = self.sealed_turns.saturating_sub(back.len() as u64);
        let (mut turns, mut tasks, mut tool_calls, mut actions) = (vec![], vec![], vec![], vec![]);
        for sealed in back {
            turns.push(sealed.turn);
            tasks.extend(sealed.tasks);
            tool_calls.extend(sealed.tool_calls);
            actions.extend(sealed.actions);
        }
        tasks.iter_mut().for_each(TaskState::restore);
        self.turns.splice(..0, turns);
        self.tasks.splice(..0, tasks);
        self.tool_calls.splice(..0, tool_calls);
        self.actions.splice(..0, actions);
        self.rebuild_index();
    }

    pub(crate) fn rebuild_index(&mut self) {
        self.index = Index::of(self);
    }
}

impl TaskState {
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
        | Item::Hosted(_)
        | Item::Other(_) => (None, None),
    };
    content.unwrap_or_default().iter().chain(blocks.unwrap_or_default()).filter_map(Block::ref_id)
}
