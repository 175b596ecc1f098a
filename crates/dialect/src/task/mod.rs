//! AgentLin's `task.*` events, as its design text has them. `README.md` has the mapping and what is lost.
//!
//! Every frame has a `sequence_number`: the revision of the state that it tells, unique in the session, rising, and
//! the same after any restart. Numbers that no frame has are changes that AgentLin has no word for.

mod ahead;
pub(crate) mod annotation;
mod block;
mod change;
mod cited;
mod ingest;
mod item;
mod lifecycle;
mod object;
mod opening;
mod part;
pub mod reference_client;
mod released;
mod standing;
mod status;
mod telling;

use riverrun_event::{Event, Record, Sequence};
use riverrun_fold::{Change, Outcome, State};

use crate::{Frames, Options, Projector};
use change::Teller;
use cited::Cited;
pub use ingest::{FrameError, FrameReader};
pub(crate) use item::write_shown_item;
pub use object::{object, object_of_sealed};
use standing::Summaries;
pub use status::{STATUSES, status};
use telling::{Head, Telling, Writer};

#[derive(Debug, Clone)]
pub struct Task {
    state: State,
    options: Options,
    cited: Cited,
    summaries: Summaries,
    changes: Vec<Change>,
}

impl Task {
    /// A projector that goes on where `state` stands.
    pub fn new(state: State, options: Options) -> Self {
        let (cited, summaries) = (Cited::of(&state), Summaries::of(&state));
        Self { state, options, cited, summaries, changes: Vec::new() }
    }
}

impl Projector for Task {
    fn event(&mut self, _: &Record<'_>, event: &Event, frames: &mut Frames) {
        self.changes.clear();
        match self.state.apply(event, &mut self.changes) {
            Outcome::Applied => {}
            Outcome::Duplicate | Outcome::Gap { .. } => return,
        }
        let unit = self.options.index_unit;
        let teller = Teller::new(&self.state, event, &self.changes, unit);
        let writer = Writer { state: &self.state, unit };
        // The newest change has the newest revision; a joined event skips those of the events that it stands for.
        let first = self.state.revision + 1 - self.changes.len() as u64;
        for (at, number) in (0..self.changes.len()).zip(first..) {
            let head = Head { number, timestamp: event.timestamp, is_replay: false };
            let Some(telling) = teller.tell(at, &mut self.cited) else { continue };
            let is_new = match &telling {
                Telling::Lifecycle { task, status, .. } => self.summaries.is_new(&self.state, *task, *status),
                _ => true,
            };
            if is_new {
                frames.push(event.sequence, |out| writer.write(out, head, &telling));
            }
        }
        if self.changes.iter().any(|change| matches!(change, Change::TurnSealed(_))) {
            self.summaries.retain(&self.state);
        }
    }

    /// The frames are numbered up to the state's revision, so that they rise and the tail goes on behind them.
    fn opening(&self, frames: &mut Frames) {
        let told = opening::tell(&self.state);
        let writer = Writer { state: &self.state, unit: self.options.index_unit };
        let first = (self.state.revision + 1).saturating_sub(told.len() as u64);
        let timestamp = self.state.updated_at.unwrap_or_default();
        for (telling, number) in told.iter().zip(first..) {
            let head = Head { number, timestamp, is_replay: true };
            frames.push(self.state.sequence, |out| writer.write(out, head, telling));
        }
    }

    fn state(&self) -> Option<&State> {
        Some(&self.state)
    }

    fn sequence(&self) -> Sequence {
        self.state.sequence
    }
}
