//! The time that the server stamps on the events of one session.

use std::sync::atomic::{AtomicI64, Ordering};

use riverrun_event::Timestamp;

/// The newest time that was stamped. A clock that is set back does not make a later event look earlier.
///
/// It is forgotten with the session's [`Hub`](super::Hub), so a session that was stamped by a clock far ahead follows
/// the corrected clock again once it has been idle. Times that a producer brings are stored as they are.
pub(super) struct Stamp(AtomicI64);

impl Default for Stamp {
    fn default() -> Self {
        Self(AtomicI64::new(i64::MIN))
    }
}

impl Stamp {
    /// `now`, or the newest time stamped before if that is later.
    pub(super) fn at(&self, now: Timestamp) -> Timestamp {
        let before = self.0.fetch_max(now.millis(), Ordering::AcqRel);
        Timestamp::from_millis(before.max(now.millis()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_a_session_never_go_back() {
        let stamp = Stamp::default();
        let stamped = [5, 9, 3, 9, 12].map(|now| stamp.at(Timestamp::from_millis(now)).millis());
        assert_eq!(stamped, [5, 9, 9, 9, 12]);
    }
}
