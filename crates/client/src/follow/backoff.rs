//! How long to wait before the next attempt.

use std::time::Duration;

use crate::error::Error;

const FIRST: Duration = Duration::from_millis(200);
const LONGEST: Duration = Duration::from_secs(10);

/// The pause before attempt `attempt` (from 1): doubling, up to a limit, spread over its upper half by `random`, so
/// that followers that were cut together do not come back together. A server's own wish is a lower bound.
pub(crate) fn delay(attempt: u32, wish: Option<Duration>, random: u32) -> Duration {
    let doubled = FIRST.saturating_mul(1 << attempt.saturating_sub(1).min(10)).min(LONGEST);
    let half = doubled / 2;
    let spread = half.mul_f64(f64::from(random) / f64::from(u32::MAX));
    (half + spread).max(wish.unwrap_or_default())
}

/// Randomness for the pause. It need not be secret, so a source that fails costs only the spread.
pub(crate) fn random() -> u32 {
    getrandom::u32().unwrap_or(u32::MAX / 2)
}

/// The pause before a call is repeated: the same rule as for a stream.
pub(crate) fn pause_before(attempt: u32, error: &Error) -> Duration {
    let wish = match error {
        Error::Problem(problem) => problem.retry_after,
        Error::Unreachable { .. }
        | Error::Cut { .. }
        | Error::Gap { .. }
        | Error::Malformed(_)
        | Error::Stream(_)
        | Error::Endpoint(_)
        | Error::BadKey => None,
    };
    delay(attempt, wish, random())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_to_a_limit_and_are_spread() {
        let millis = |attempt, random| delay(attempt, None, random).as_millis();
        assert_eq!([millis(1, 0), millis(2, 0), millis(3, 0)], [100, 200, 400]);
        assert_eq!([millis(1, u32::MAX), millis(30, u32::MAX), millis(30, 0)], [200, 10_000, 5_000]);
    }

    #[test]
    fn the_server_may_ask_for_more() {
        assert_eq!(delay(1, Some(Duration::from_secs(3)), 0), Duration::from_secs(3));
    }
}
