//! The machine's randomness.

use riverrun_log::Random;

/// The random numbers of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemRandom;

impl Random for SystemRandom {
    fn fill(&self, bytes: &mut [u8]) {
        getrandom::fill(bytes).expect("a machine without randomness does not come as far as a first key");
    }
}
