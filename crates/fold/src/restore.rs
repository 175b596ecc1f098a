//! A state read back from its JSON form: what is derived is derived again.

use riverrun_event::{Block, Item, SessionId};

use crate::citation::Scanner;
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
        state.rebuild_index();
        Ok(state)
    }

    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a state has string keys and no fallible parts")
    }

    pub(crate) fn rebuild_index(&mut self) {
        let tasks = self.tasks.iter().enumerate().map(|(at, task)| (task.task_id.clone(), at));
        self.index.tasks = tasks.collect();
        let turns = self.turns.iter().enumerate().map(|(at, turn)| (turn.turn_id.clone(), at));
        self.index.turns = turns.collect();
    }
}

impl Task {
    fn restore(&mut self) {
        let ids = self.output.iter().enumerate().filter_map(|(at, item)| item.id().map(|id| (id.into_owned(), at)));
        self.positions.0 = ids.collect();
        self.open.retain(|open| open.position < self.output.len());
        for open in &mut self.open {
            let Item::Message(message) = &self.output[open.position] else { continue };
            let scanner = |block: &Block| {
                let mut scanner = Scanner::default();
                if let Block::Text(text) = block {
                    // What it finds was annotated, or refused, when it came.
                    scanner.scan(&text.text, |_| {});
                }
                scanner
            };
            open.scanners.0 = message.block_list.iter().flatten().map(scanner).collect();
        }
    }
}
