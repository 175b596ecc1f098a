//! Properties of the fold over generated logs. They see the derived parts of a state, so that a restored state is
//! compared with the original in everything that the next event could read.

pub(crate) mod derived;
mod hostile;
mod plausible;
mod properties;

use riverrun_event::{Event, Sequence, decode_wire};
use serde_json::{Value, json};

/// A small generator of numbers; the same seed gives the same ones everywhere.
pub(crate) struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed ^ 0x9e37_79b9_7f4a_7c15)
    }

    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % sides.max(1)
    }

    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.roll(of.len())]
    }

    /// True once in `sides`.
    pub fn once_in(&mut self, sides: usize) -> bool {
        self.roll(sides) == 0
    }
}

/// An event as the wire would bring it, at its place.
pub(crate) fn event(sequence: u64, mut envelope: Value) -> Event {
    let second = sequence % 60;
    envelope["sequence"] = json!(sequence);
    envelope["timestamp"] = json!(format!("2026-11-16T05:40:{second:02}.000Z"));
    decode_wire(&envelope.to_string()).expect("generated envelopes are well formed")
}

/// The event at another place.
pub(crate) fn at(event: &Event, sequence: u64) -> Event {
    Event {
        sequence: Sequence::new(sequence).expect("a small number"),
        first_sequence: None,
        ..event.clone()
    }
}

mod put_back;
