//! The machine's randomness.

use riverrun_log::Random;

pub(crate) struct SystemRandom;

impl Random for SystemRandom {
    fn fill(&self, bytes: &mut [u8]) {
        getrandom::fill(bytes).expect("a machine without randomness has not come as far as a first key");
    }
}
