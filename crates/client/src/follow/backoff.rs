//! How long to wait before the next attempt.

use std::time::Duration;

use riverrun_net::Backoff;

use crate::error::Error;

const BACKOFF: Backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(10));

/// The pause before attempt `attempt` (from 1). A server's own wish is a lower bound.
pub(crate) fn delay(attempt: u32, wish: Option<Duration>, random: u32) -> Duration {
    BACKOFF.spread(attempt, random).max(wish.unwrap_or_default())
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
        | Error::Untrusted { .. }
        | Error::Cut { .. }
        | Error::Gap { .. }
        | Error::Malformed(_)
        | Error::Stream(_)
        | Error::Url(_)
        | Error::BadKey => None,
    };
    delay(attempt, wish, random())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_may_ask_for_more() {
        assert_eq!(delay(1, None, u32::MAX), Duration::from_millis(200));
        assert_eq!(delay(1, Some(Duration::from_secs(3)), 0), Duration::from_secs(3));
    }
}
