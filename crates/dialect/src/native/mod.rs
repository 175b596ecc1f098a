//! The native dialect: the Agent Runtime envelope, as composed from the stored record. It needs no state.

pub mod lime;
pub mod strict;

use riverrun_event::{Composer, Event, LIME_SCHEMA_VERSION, Record, Sequence};
use riverrun_fold::State;

use crate::registry::ProjectedSession;
use crate::{Frames, Projector};

#[derive(Debug, Clone)]
pub struct Native {
    composer: Composer,
    at: Sequence,
}

impl Native {
    pub fn new(session: &ProjectedSession<'_>, at: Sequence) -> Self {
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

/// The native dialect for readers that know the standard's types alone, or those of a profile of it.
#[derive(Debug, Clone)]
pub struct Strict {
    composer: Composer,
    write: fn(&Composer, &Record<'_>, &Event) -> Option<String>,
    at: Sequence,
}

impl Strict {
    pub fn new(session: &ProjectedSession<'_>, at: Sequence) -> Self {
        Self { composer: session.composer(), write: strict::strict, at }
    }

    /// The same for readers of the Lime profile.
    pub fn lime(session: &ProjectedSession<'_>, at: Sequence) -> Self {
        let composer = session.composer().with_schema_version(LIME_SCHEMA_VERSION);
        Self { composer, write: lime::lime, at }
    }
}

impl Projector for Strict {
    fn event(&mut self, record: &Record<'_>, event: &Event, frames: &mut Frames) {
        self.at = event.sequence;
        if let Some(json) = (self.write)(&self.composer, record, event) {
            frames.push(event.sequence, |out| out.push_str(&json));
        }
    }

    /// As in the native dialect.
    fn opening(&self, _: &mut Frames) {}

    fn state(&self) -> Option<&State> {
        None
    }

    fn sequence(&self) -> Sequence {
        self.at
    }
}
