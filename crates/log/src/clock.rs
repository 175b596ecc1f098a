//! Time and randomness, behind traits so that a simulator can own them.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970 UTC. Informative only: order comes from sequences, fences from epochs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct UnixMillis(u64);

impl UnixMillis {
    /// The latest time that can be stored: 48 bits of milliseconds, past the year 10,000.
    pub const MAX: UnixMillis = UnixMillis((1 << 48) - 1);

    /// Later times than [`UnixMillis::MAX`] become it: a mad clock must not stop a log.
    pub const fn from_millis(millis: u64) -> Self {
        if millis > Self::MAX.0 { Self::MAX } else { Self(millis) }
    }

    /// Milliseconds since 1970-01-01 in UTC.
    pub const fn millis(self) -> u64 {
        self.0
    }

    /// The time so much later.
    pub fn plus(self, duration: std::time::Duration) -> Self {
        Self::from_millis(self.0.saturating_add(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)))
    }
}

impl fmt::Display for UnixMillis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms", self.0)
    }
}

/// The source of time. Tests have their own.
pub trait Clock: Send + Sync + 'static {
    /// The present time.
    fn now(&self) -> UnixMillis;
}

/// The source of randomness. Tests have their own.
pub trait Random: Send + Sync + 'static {
    /// Fills the buffer with random bytes.
    fn fill(&self, bytes: &mut [u8]);
}

/// The machine's wall clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> UnixMillis {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        UnixMillis::from_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}

/// A clock that moves only when it is set, for tests and simulation.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicU64);

impl ManualClock {
    /// A clock that shows this time.
    pub fn at(now: UnixMillis) -> Self {
        Self(AtomicU64::new(now.millis()))
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: std::time::Duration) {
        self.0.fetch_add(u64::try_from(by.as_millis()).unwrap_or(u64::MAX), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> UnixMillis {
        UnixMillis::from_millis(self.0.load(Ordering::SeqCst))
    }
}

/// A repeatable sequence of numbers (splitmix64), for tests and simulation.
#[derive(Debug)]
pub struct SeededRandom(AtomicU64);

impl SeededRandom {
    /// The same seed gives the same bytes.
    pub const fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    fn next(&self) -> u64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut z = self.0.fetch_add(STEP, Ordering::SeqCst).wrapping_add(STEP);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

impl Random for SeededRandom {
    fn fill(&self, bytes: &mut [u8]) {
        for part in bytes.chunks_mut(8) {
            part.copy_from_slice(&self.next().to_le_bytes()[..part.len()]);
        }
    }
}
