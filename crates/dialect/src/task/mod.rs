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
mod planned_frame;
pub mod reference_client;
mod released;
mod standing;
mod status;

use riverrun_event::{Event, Record, Sequence};
use riverrun_fold::{ApplyOutcome, Change, State};

use crate::{Frames, Projector, ReaderOptions};
use change::ChangePlanner;
use cited::Cited;
pub use ingest::{FrameError, FrameReader};
pub(crate) use item::write_shown_item;
pub use object::{object, object_of_sealed};
use planned_frame::{Head, PlannedFrame, Writer};
use standing::Summaries;
pub use status::{STATUSES, status};

#[derive(Debug, Clone)]
pub struct TaskProjector {
    state: State,
    options: ReaderOptions,
    cited: Cited,
    summaries: Summaries,
    changes: Vec<Change>,
}

impl TaskProjector {
    /// A projector that continues from `state`.
    pub fn new(state: State, options: ReaderOptions) -> Self {
        let (cited, summaries) = (Cited::of(&state), Summaries::of(&state));
        Self { state, options, cited, summaries, changes: Vec::new() }
    }
}

impl Projector for TaskProjector {
    fn event(&mut self, _: &Record<'_>, event: &Event, frames: &mut Frames) {
        self.changes.clear();
        match self.state.apply(event, &mut self.changes) {
            ApplyOutcome::Applied => {}
            ApplyOutcome::Duplicate | ApplyOutcome::Gap { .. } => return,
        }
        let unit = self.options.index_unit;
        let planner = ChangePlanner::new(&self.state, event, &self.changes, unit);
        let writer = Writer { state: &self.state, unit };
        // The newest change has the newest revision; a joined event skips those of the events that it stands for.
        let first = self.state.revision + 1 - self.changes.len() as u64;
        for (at, number) in (0..self.changes.len()).zip(first..) {
            let head = Head { number, timestamp: event.timestamp, is_replay: false };
            let Some(planned_frame) = planner.plan(at, &mut self.cited) else { continue };
            let is_new = match &planned_frame {
                PlannedFrame::Lifecycle { task, status, .. } => {
                    self.summaries.is_new(&self.state, *task, *status)
                }
                _ => true,
            };
            if is_new {
                frames.push(event.sequence, |out| writer.write(out, head, &planned_frame));
            }
        }
        if self.changes.iter().any(|change| matches!(change, Change::TurnSealed(_))) {
            self.summaries.retain(&self.state);
        }
    }

    /// The frames are numbered up to the state's revision, so that they rise and the tail goes on behind them.
    fn opening(&self, frames: &mut Frames) {
        let planned = opening::plan(&self.state);
        let writer = Writer { state: &self.state, unit: self.options.index_unit };
        let first = (self.state.revision + 1).saturating_sub(planned.len() as u64);
        let timestamp = self.state.updated_at.unwrap_or_default();
        for (planned_frame, number) in planned.iter().zip(first..) {
            let head = Head { number, timestamp, is_replay: true };
            frames.push(self.state.sequence, |out| writer.write(out, head, planned_frame));
        }
    }

    fn state(&self) -> Option<&State> {
        Some(&self.state)
    }

    fn sequence(&self) -> Sequence {
        self.state.sequence
    }
}
