//! AG-UI 1.0: one turn as one run, valid for the strict verifier of the official client at any cut.
//! `README.md` has the mapping and what is lost.

mod action;
mod encode;
mod frame;
mod identity;
mod message;
mod part;
mod patch;
pub mod request;

use riverrun_event::{Event, Record, Sequence};
use riverrun_fold::State;
use serde_json::Value;

use crate::follow::{Follower, Happening, emitted_steps, shared_state};
use crate::{Frames, Projector, ReaderOptions};
use encode::Encoder;
use frame::Event as AgUiEvent;
pub use message::known;

#[derive(Debug, Clone)]
pub struct AgUi {
    follower: Follower,
    /// What the reader knows of the session's shared state.
    shared: Option<Value>,
    /// Steps that were emitted.
    steps: usize,
}

impl AgUi {
    /// A projector that continues from `state`.
    pub fn new(state: State, options: ReaderOptions) -> Self {
        let shared = shared_state(&state);
        let follower = Follower::new(state, options).with_input();
        let steps = follower.turn().map_or(0, |turn| emitted_steps(follower.state(), turn));
        Self { follower, shared, steps }
    }
}

impl Projector for AgUi {
    fn event(&mut self, _: &Record<'_>, event: &Event, frames: &mut Frames) {
        self.follower.event(event);
        let happenings = self.follower.happenings().to_vec();
        let (state, Some(turn)) = (self.follower.state(), self.follower.turn()) else { return };
        let shared = shared_state(state);
        if happenings.contains(&Happening::Began { again: false }) {
            self.steps = 0;
        }
        let (time, steps) = (event.timestamp, &mut self.steps);
        let mut encoder = Encoder { state, turn, time, frames, steps, happenings: &happenings };
        let needs_snapshot = happenings.iter().any(|happening| {
            matches!(
                happening,
                Happening::TextReplaced(_) | Happening::ArgumentsReplaced(_) | Happening::Retracted(_)
            )
        });
        for happening in &happenings {
            if matches!(happening, Happening::Paused | Happening::Ended) && needs_snapshot {
                encoder.messages_snapshot();
            }
            if *happening == Happening::Session {
                encode_shared(&mut encoder, self.shared.as_ref(), shared.as_ref());
            }
            encoder.encode(*happening);
        }
        let is_closed = matches!(happenings.last(), Some(Happening::Paused | Happening::Ended));
        if needs_snapshot && !is_closed {
            encoder.messages_snapshot();
        }
        self.shared = shared;
    }

    /// The conversation as a snapshot, then the brackets that are open.
    fn opening(&self, frames: &mut Frames) {
        let happenings = self.follower.opening();
        let (state, Some(turn)) = (self.follower.state(), self.follower.turn()) else { return };
        if happenings.is_empty() {
            return;
        }
        let time = state.updated_at.unwrap_or_default();
        let mut steps = self.steps;
        let mut encoder = Encoder { state, turn, time, frames, steps: &mut steps, happenings: &[] };
        encoder.run_started();
        encoder.messages_snapshot();
        encoder.state_snapshot();
        encoder.reopen();
        for happening in &happenings {
            if matches!(happening, Happening::Paused | Happening::Ended) {
                encoder.encode(*happening);
            } else if is_open(happening, &happenings) {
                encoder.open(*happening);
            }
        }
    }

    fn state(&self) -> Option<&State> {
        Some(self.follower.state())
    }

    fn sequence(&self) -> Sequence {
        self.follower.state().sequence
    }

    fn is_over(&self) -> bool {
        self.follower.is_over(true)
    }
}

fn encode_shared(encoder: &mut Encoder<'_>, before: Option<&Value>, after: Option<&Value>) {
    match (before, after) {
        (Some(before), Some(after)) if before != after => {
            let delta = Value::Array(patch::patch(before, after));
            encoder.push(AgUiEvent::StateDelta { delta });
        }
        (None, Some(after)) => encoder.push(AgUiEvent::StateSnapshot { snapshot: after.clone() }),
        (Some(_), None) => encoder.push(AgUiEvent::StateSnapshot { snapshot: Value::Null }),
        (Some(_), Some(_)) | (None, None) => {}
    }
}

/// True for a start whose end is not emitted.
fn is_open(happening: &Happening, all: &[Happening]) -> bool {
    let end = match happening {
        Happening::ItemStarted(at) => Happening::ItemEnded(*at),
        Happening::TextStarted(at) => Happening::TextEnded(*at),
        Happening::CallStarted(at) => Happening::CallEnded(*at),
        _ => return false,
    };
    !all.contains(&end)
}
