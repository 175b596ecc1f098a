//! The time by which events are old. It follows the wall clock, but not its jumps: what a wrong clock calls old may have
//! been written a minute ago, and what is deleted does not come back.
//!
//! ```text
//! wall     ────────────╮ set forward          steady for a day
//!                      ╰──────────────────────────────┬───────
//! trusted  ────────────────────────────────────────────╯
//! ```
//!
//! This file reads no clock: times arrive as arguments, in milliseconds.

/// How far the wall clock may leave the steady one between two looks.
const TOLERANCE: u64 = 60_000;
/// How long a server may have been down for the time to be believed at once.
const LONGEST_STOP: u64 = 24 * 60 * 60 * 1000;
/// How long the clock must be steady after a jump before it is believed.
const SETTLES: u64 = 24 * 60 * 60 * 1000;

#[derive(Debug)]
pub struct TrustedClock {
    /// The time that is believed, and both clocks when it was last looked at.
    trusted: u64,
    wall: u64,
    steady: u64,
    /// When the wall clock jumped, by the steady clock.
    doubted_since: Option<u64>,
}

/// A clock that was set while we looked away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Jump {
    pub millis: i64,
}

impl TrustedClock {
    /// `noted` is the time that was believed when a server last ran on this store.
    pub fn new(wall: u64, steady: u64, noted: Option<u64>) -> (Self, Option<Jump>) {
        let jump = noted.filter(|noted| wall > noted.saturating_add(LONGEST_STOP));
        let clock = Self { trusted: jump.unwrap_or(wall), wall, steady, doubted_since: jump.map(|_| steady) };
        (clock, jump.map(|noted| Jump { millis: signed(wall) - signed(noted) }))
    }

    /// Looks at both clocks. Answers a jump since the last look.
    pub fn look(&mut self, wall: u64, steady: u64) -> Option<Jump> {
        let passed = steady.saturating_sub(self.steady);
        let expected = self.wall.saturating_add(passed);
        let jump =
            (wall.abs_diff(expected) > TOLERANCE).then(|| Jump { millis: signed(wall) - signed(expected) });
        if jump.is_some() {
            self.doubted_since = Some(steady);
        }
        self.trusted = wall.min(self.trusted.saturating_add(passed));
        let is_settled = self.doubted_since.is_some_and(|since| steady.saturating_sub(since) >= SETTLES);
        if self.doubted_since.is_none() || is_settled || wall - self.trusted <= TOLERANCE {
            self.trusted = wall;
            self.doubted_since = None;
        }
        (self.wall, self.steady) = (wall, steady);
        jump
    }

    pub fn now(&self) -> u64 {
        self.trusted
    }

    /// How far the wall clock is ahead of what is believed.
    pub fn behind(&self) -> u64 {
        self.wall.saturating_sub(self.trusted)
    }
}

fn signed(millis: u64) -> i64 {
    i64::try_from(millis).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = SETTLES;

    fn look(clock: &mut TrustedClock, wall: u64, steady: u64) -> (u64, Option<i64>) {
        let jump = clock.look(wall, steady);
        (clock.now(), jump.map(|jump| jump.millis))
    }

    #[test]
    fn a_steady_clock_is_believed() {
        let (mut clock, jump) = TrustedClock::new(1_000, 0, None);
        assert_eq!(jump, None);
        assert_eq!(look(&mut clock, 2_000, 1_000), (2_000, None));
        assert_eq!(look(&mut clock, 52_500, 51_000), (52_500, None), "a little drift is no jump");
    }

    #[test]
    fn a_jump_forward_is_believed_after_a_day() {
        let (mut clock, _) = TrustedClock::new(1_000, 0, None);
        assert_eq!(look(&mut clock, 40 * DAY + 2_000, 1_000), (2_000, Some(signed(40 * DAY))));
        assert_eq!(look(&mut clock, 40 * DAY + 3_000, 2_000), (3_000, None));
        assert_eq!(clock.behind(), 40 * DAY);
        assert_eq!(look(&mut clock, 41 * DAY + 2_000, DAY + 1_000), (41 * DAY + 2_000, None));
        assert_eq!(clock.behind(), 0);
    }

    #[test]
    fn a_jump_that_is_corrected_costs_nothing() {
        let (mut clock, _) = TrustedClock::new(1_000, 0, None);
        look(&mut clock, 40 * DAY, 1_000);
        assert_eq!(look(&mut clock, 3_000, 2_000).0, 3_000);
        assert_eq!((look(&mut clock, 4_000, 3_000), clock.behind()), ((4_000, None), 0));
    }

    #[test]
    fn a_jump_back_makes_nothing_older() {
        let (mut clock, _) = TrustedClock::new(10 * DAY, 0, None);
        assert_eq!(look(&mut clock, DAY, 1_000).0, DAY);
        assert_eq!(
            look(&mut clock, 10 * DAY + 2_000, 2_000).0,
            DAY + 1_000,
            "set right, it is doubted at first"
        );
    }

    #[test]
    fn a_jump_while_nobody_ran_is_doubted() {
        let (clock, jump) = TrustedClock::new(40 * DAY, 0, Some(DAY));
        assert_eq!((clock.now(), jump), (DAY, Some(Jump { millis: signed(39 * DAY) })));
        let (clock, jump) = TrustedClock::new(2 * DAY, 0, Some(DAY));
        assert_eq!((clock.now(), jump), (2 * DAY, None), "a stop of a day is believed");
        let (clock, _) = TrustedClock::new(DAY, 0, Some(9 * DAY));
        assert_eq!(clock.now(), DAY);
    }
}
