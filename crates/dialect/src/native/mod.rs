//! The native dialect: the Agent Runtime envelope, as composed from the stored record. It needs no state.

pub mod strict;

use riverrun_event::{Composer, Event, Record, Sequence};
use riverrun_fold::State;

use crate::registry::Session;
use crate::{Frames, Projector};

#[derive(Debug, Clone)]
pub struct Native {
    composer: Composer,
    at: Sequence,
}

impl Native {
    pub fn new(session: &Session<'_>, at: Sequence) -> Self {
        Self { composer: session.composer(), at }
    }
}

impl Projector for Native {
    fn event(&mut self, record: &Record<'_>, event: &Event, frames: &mut Frames) {
        self.at = event.sequence;
        let first = event.first_sequence.unwrap_or(event.sequence);
        frames.push(event.sequence, |out| self.composer.write_joined(record, first, event.sequence, out));
    }

    /// A native reader without a state gets the state itself; see `stream.snapshot`.
    fn opening(&self, _: &mut Frames) {}

    fn state(&self) -> Option<&State> {
        None
    }

    fn sequence(&self) -> Sequence {
        self.at
    }
}
