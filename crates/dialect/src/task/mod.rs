//! AgentLin's `task.*` events, as its design text has them.

use riverrun_event::{Event, Record, Sequence};
use riverrun_fold::{Change, State};

use crate::{Frames, Options, Projector};

#[derive(Debug, Clone)]
pub struct Task {
    state: State,
    options: Options,
    changes: Vec<Change>,
}

impl Task {
    pub fn new(state: State, options: Options) -> Self {
        Self { state, options, changes: Vec::new() }
    }
}

impl Projector for Task {
    fn event(&mut self, _: &Record<'_>, event: &Event, _: &mut Frames) {
        self.changes.clear();
        let _ = (self.state.apply(event, &mut self.changes), self.options);
    }

    fn opening(&self, _: &mut Frames) {}

    fn state(&self) -> Option<&State> {
        Some(&self.state)
    }

    fn sequence(&self) -> Sequence {
        self.state.sequence
    }
}
