//! Places in a log.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The dense number of an event in its session's log, from 1. `Sequence::ZERO` is the place before the first.
///
/// ```text
/// after ZERO   [ 1  2  3  4  5 ]
///              ^                ^ head = 5
/// ```
///
/// At most 2^53 − 1, so that every JSON reader holds it exactly.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Default,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(transparent)]
pub struct Sequence(u64);

impl Sequence {
    /// Before the first event.
    pub const ZERO: Sequence = Sequence(0);
    /// The largest integer that JavaScript numbers hold exactly.
    pub const MAX: Sequence = Sequence((1 << 53) - 1);

    /// None above [`Sequence::MAX`].
    pub const fn new(value: u64) -> Option<Self> {
        if value <= Self::MAX.0 { Some(Self(value)) } else { None }
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The next place, or None when the log is exhausted.
    pub const fn next(self) -> Option<Self> {
        Self::new(self.0 + 1)
    }

    /// The place `count` further on, or None when the log would be exhausted.
    pub const fn plus(self, count: u64) -> Option<Self> {
        match self.0.checked_add(count) {
            Some(sum) => Self::new(sum),
            None => None,
        }
    }

    /// The place before this one; that of ZERO is ZERO.
    pub const fn previous(self) -> Self {
        Self(self.0.saturating_sub(1))
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
