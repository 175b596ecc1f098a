//! The part of a projector that the dialects of a turn share.

use riverrun_event::{Event, Payload, Record, Sequence, Timestamp, TurnId};
use riverrun_fold::State;

use super::follower::Follower;
use super::happening::Happening;
use super::read::emitted_steps;
use crate::{Frames, Projector, ReaderOptions};

/// Writes a dialect's frames for happenings.
pub(crate) trait Encode: Send {
    fn encode(&mut self, context: &EncodeContext<'_>, happening: Happening, frames: &mut Frames);

    /// An event of the turn that changes nothing, for a dialect that has words for it.
    fn verbatim(&mut self, _: &EncodeContext<'_>, _: &Event, _: &mut Frames) {}

    /// Behind the happenings of an event, and of an opening. Text that only grows settles nothing.
    fn settle(&mut self, _: &EncodeContext<'_>, _: &mut Frames) {}

    /// True if a turn that waits for a decision ends the stream.
    fn ends_at_pause(&self) -> bool {
        true
    }
}

/// What an encoder needs to know about a happening.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EncodeContext<'a> {
    pub(crate) state: &'a State,
    pub(crate) turn: &'a TurnId,
    pub(crate) time: Timestamp,
    /// The frames open a stream for a reader without a state.
    pub(crate) is_opening: bool,
    /// What the reader chose.
    pub(crate) options: ReaderOptions,
}

/// What an encoder has to know of its reader, counted anew for each turn.
#[derive(Debug, Clone)]
pub(crate) struct Shell<E> {
    follower: Follower,
    encoder: E,
    options: ReaderOptions,
}

impl<E: Encode> Shell<E> {
    /// `encoder` gets the number of steps that the reader of `state` has.
    pub(crate) fn new(
        state: State,
        options: ReaderOptions,
        encoder: impl FnOnce(&State, usize) -> E,
    ) -> Self {
        let follower = Follower::new(state, options);
        let steps = follower.turn().map_or(0, |turn| emitted_steps(follower.state(), turn));
        let encoder = encoder(follower.state(), steps);
        Self { follower, encoder, options }
    }
}

impl<E: Encode + Default> Shell<E> {
    /// The encoder knows what it knows after an opening.
    pub(crate) fn primed(state: State, options: ReaderOptions) -> Self {
        let follower = Follower::new(state, options);
        let mut encoder = E::default();
        encode_opening(&follower, &mut encoder, options, &mut Frames::default());
        Self { follower, encoder, options }
    }
}

fn encode_opening<E: Encode>(
    follower: &Follower,
    encoder: &mut E,
    options: ReaderOptions,
    frames: &mut Frames,
) {
    let (state, Some(turn)) = (follower.state(), follower.turn()) else { return };
    let time = state.updated_at.unwrap_or_default();
    let context = EncodeContext { state, turn, time, is_opening: true, options };
    follower.opening().into_iter().for_each(|happening| encoder.encode(&context, happening, frames));
    encoder.settle(&context, frames);
}

impl<E: Encode + Default> Projector for Shell<E> {
    fn event(&mut self, _: &Record<'_>, event: &Event, frames: &mut Frames) {
        self.follower.event(event);
        let (state, Some(turn)) = (self.follower.state(), self.follower.turn()) else { return };
        let context =
            EncodeContext { state, turn, time: event.timestamp, is_opening: false, options: self.options };
        if self.follower.is_open() {
            self.encoder.verbatim(&context, event, frames);
        }
        for happening in self.follower.happenings() {
            if *happening == (Happening::Began { again: false }) {
                self.encoder = E::default();
            }
            self.encoder.encode(&context, *happening, frames);
        }
        let is_growth = matches!(
            event.payload,
            Ok(Payload::ModelDelta(_) | Payload::ReasoningDelta(_) | Payload::ToolArgs(_))
        );
        if !is_growth {
            self.encoder.settle(&context, frames);
        }
    }

    fn opening(&self, frames: &mut Frames) {
        encode_opening(&self.follower, &mut E::default(), self.options, frames);
    }

    fn state(&self) -> Option<&State> {
        Some(self.follower.state())
    }

    fn sequence(&self) -> Sequence {
        self.follower.state().sequence
    }

    fn is_over(&self) -> bool {
        self.follower.is_over(self.encoder.ends_at_pause())
    }
}

impl EncodeContext<'_> {
    /// Adds a frame.
    pub(crate) fn push(&self, frames: &mut Frames, value: &impl serde::Serialize) {
        self.push_named(frames, "", value);
    }

    pub(crate) fn push_named(&self, frames: &mut Frames, name: &'static str, value: &impl serde::Serialize) {
        let text = serde_json::to_string(value).expect("every member is text, number, list or object");
        frames.push_named(self.state.sequence, name, |out| out.push_str(&text));
    }

    pub(crate) fn session(&self) -> &str {
        self.state.session_id.as_ref().map_or("", |id| id.as_str())
    }

    pub(crate) fn is_root(&self, at: riverrun_fold::ItemAt) -> bool {
        !super::read::is_child(self.state, at.task)
    }
}
