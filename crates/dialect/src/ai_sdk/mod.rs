//! The UI message stream v1 of Vercel's AI SDK: one turn as one assistant message.
//! `README.md` has the mapping and what is lost.

mod chunk;
mod encode;
pub mod request;
mod subagent;

use riverrun_event::{Event, Record, Sequence};
use riverrun_fold::State;

use crate::follow::{Follower, Happening, emitted_steps};
use crate::{Frames, Projector, ReaderOptions};
use encode::Encoder;

/// What a client looks at before it reads the stream.
pub const HEADERS: &[(&str, &str)] = &[("x-vercel-ai-ui-message-stream", "v1")];

#[derive(Debug, Clone)]
pub struct AiSdk {
    follower: Follower,
    /// Steps that were emitted.
    steps: usize,
}

impl AiSdk {
    /// A projector that continues from `state`.
    pub fn new(state: State, options: ReaderOptions) -> Self {
        let follower = Follower::new(state, options);
        let steps = follower.turn().map_or(0, |turn| emitted_steps(follower.state(), turn));
        Self { follower, steps }
    }
}

impl Projector for AiSdk {
    fn event(&mut self, _: &Record<'_>, event: &Event, frames: &mut Frames) {
        self.follower.event(event);
        let happenings = self.follower.happenings().to_vec();
        let (state, Some(turn)) = (self.follower.state(), self.follower.turn()) else { return };
        if happenings.contains(&Happening::Began { again: false }) {
            self.steps = 0;
        }
        let mut encoder = Encoder { state, turn, frames, steps: &mut self.steps };
        happenings.into_iter().for_each(|happening| encoder.encode(happening));
    }

    /// The client resets its message at `start` and takes the rest as if it had been there.
    fn opening(&self, frames: &mut Frames) {
        let (state, Some(turn)) = (self.follower.state(), self.follower.turn()) else { return };
        let mut encoder = Encoder { state, turn, frames, steps: &mut 0 };
        for happening in self.follower.opening() {
            if matches!(happening, Happening::Paused | Happening::Ended) {
                encoder.catch_up(self.steps);
            }
            encoder.encode(happening);
        }
        encoder.catch_up(self.steps);
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
