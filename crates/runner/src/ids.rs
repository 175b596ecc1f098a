//! New ids.

use riverrun_log::{Clock, Random};

/// Sixteen bytes that sort by time and then differ: 48 bits of milliseconds, 80 of chance.
pub(crate) fn fresh(clock: &dyn Clock, random: &dyn Random) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..6].copy_from_slice(&clock.now().millis().to_be_bytes()[2..]);
    random.fill(&mut bytes[6..]);
    bytes
}

/// A number below `limit`, for jitter.
pub(crate) fn below(random: &dyn Random, limit: u64) -> u64 {
    let mut bytes = [0; 8];
    random.fill(&mut bytes);
    if limit == 0 { 0 } else { u64::from_le_bytes(bytes) % limit }
}
