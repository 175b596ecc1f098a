//! How long to wait before the next attempt.

use std::time::Duration;

/// Pauses that double from one attempt to the next, up to a limit.
///
/// Randomness is an argument, so that a simulation can repeat a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
}

impl Backoff {
    /// Pauses from `first` to `longest`.
    pub const fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest }
    }

    /// The pause before attempt `attempt`, counted from 1.
    pub fn pause(&self, attempt: u32) -> Duration {
        self.first.saturating_mul(1 << attempt.saturating_sub(1).min(10)).min(self.longest)
    }

    /// The same pause, moved into its upper half by `random`: clients that were cut together come back apart.
    pub fn spread(&self, attempt: u32, random: u32) -> Duration {
        let half = self.pause(attempt) / 2;
        half + half.mul_f64(f64::from(random) / f64::from(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACKOFF: Backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(10));

    #[test]
    fn pauses_double_to_a_limit() {
        let millis = |attempt| BACKOFF.pause(attempt).as_millis();
        assert_eq!([millis(0), millis(1), millis(2), millis(3)], [200, 200, 400, 800]);
        assert_eq!([millis(30), millis(u32::MAX)], [10_000, 10_000]);
    }

    #[test]
    fn chance_moves_a_pause_within_its_upper_half() {
        let millis = |attempt, random| BACKOFF.spread(attempt, random).as_millis();
        assert_eq!([millis(1, 0), millis(2, 0), millis(3, 0)], [100, 200, 400]);
        assert_eq!([millis(1, u32::MAX), millis(30, u32::MAX), millis(30, 0)], [200, 10_000, 5_000]);
    }
}
