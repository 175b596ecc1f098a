//! Limits of a runner.

use crate::{FileOptions, TurnQuotas};

#[derive(Debug, Clone)]
pub struct Options {
    /// Turns that may wait in the queue of one thread.
    pub queue: usize,
    /// Model, tool and hook calls that may run at the same time. Those that wait are taken tenant by tenant.
    pub running: usize,
    /// Tool calls of one session that may run at the same time, and hooks.
    pub per_session: usize,
    /// Turns of one tenant that may be at work at the same time.
    pub turns: TurnQuotas,
    /// How files of inputs are read.
    pub files: FileOptions,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            queue: 100,
            running: 1000,
            per_session: 64,
            turns: TurnQuotas::default(),
            files: FileOptions::default(),
        }
    }
}
