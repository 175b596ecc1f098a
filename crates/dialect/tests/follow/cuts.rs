//! Whatever part of the stream a reader saw, it ends with the same object.

use riverrun_dialect::Dialect;
use riverrun_event::Sequence;
use serde_json::Value;

use crate::log::{Delivered, Log, logs};

/// A small client that keeps the rules of the official one.
pub trait Client: Default {
    fn take(&mut self, frame: &Delivered) -> Result<(), String>;
    /// What its user sees in the end.
    fn object(&self) -> Value;

    /// A frame without what depends on how many came before it. Where frames have such numbers the server projects a
    /// turn from its beginning.
    fn unnumbered(frame: &Delivered) -> Delivered {
        frame.clone()
    }
}

pub fn fold<'a, C: Client>(frames: impl IntoIterator<Item = &'a Delivered>, place: &str) -> C {
    let mut client = C::default();
    for frame in frames {
        client.take(frame).unwrap_or_else(|error| panic!("{place}: {error}: {}", frame.text));
    }
    client
}

/// Checks each turn of each log at each cut.
pub fn check<C: Client>(dialect: Dialect) {
    for (name, log) in logs() {
        for turn in log.turns() {
            check_turn::<C>(dialect, &format!("{name}, turn at {}", turn.get()), &log, turn);
        }
    }
}

fn check_turn<C: Client>(dialect: Dialect, name: &str, log: &Log, turn: Sequence) {
    let whole = log.tail(dialect, 0, Some(turn));
    let seen = fold::<C>(&whole, name).object();
    // The recordings are long, and their deltas alike.
    for after in (0..=log.len()).step_by(1 + log.len() / 60) {
        let place = format!("{name}, cut after event {after}");
        let tail = log.tail(dialect, after, Some(turn));
        let rest: Vec<_> = whole.iter().filter(|frame| frame.sequence > after as u64).cloned().collect();
        let same = |frames: &[Delivered]| frames.iter().map(C::unnumbered).collect::<Vec<_>>();
        assert_eq!(same(&tail), same(&rest), "{place}: the same bytes whoever projects them");
        let opening = log.opening(dialect, after, Some(turn));
        let again = fold::<C>(opening.iter().chain(&tail), &place).object();
        assert_eq!(again, seen, "{place}");
    }
}

/// A reader that names no turn gets one turn after the other, and every frame is valid behind the one before.
pub fn check_session<C: Client>(dialect: Dialect) {
    for (name, log) in logs() {
        let whole = log.tail(dialect, 0, None);
        fold::<C>(&whole, &name);
        for after in (0..=log.len()).step_by(1 + log.len() / 60) {
            let tail = log.tail(dialect, after, None);
            let rest: Vec<_> = whole.iter().filter(|frame| frame.sequence > after as u64).cloned().collect();
            assert_eq!(tail, rest, "{name}, cut after event {after}");
        }
    }
}
