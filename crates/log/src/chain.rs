//! Walking a session's chunks in order and noticing what does not fit.

use riverrun_event::Sequence;

use crate::seeded::{self, Bug};
use crate::{Chunk, Link};

/// A place between two chunks: what the next one must begin with.
///
/// ```text
/// [ 1  2  3 ] [ 4  5 ]│           Chain { last: 5, link: link of 4..=5 }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chain {
    /// The last event so far.
    pub last: Sequence,
    /// The hash of the last chunk so far.
    pub link: Link,
}

impl Chain {
    /// Moves past `chunk`, or says why it is not the one that follows.
    /// On a defect the walk continues after the chunk, so that one defect is reported once.
    pub fn step(&mut self, chunk: &Chunk) -> Result<(), String> {
        let (expected, link) = (self.last.next(), self.link);
        self.last = chunk.last();
        self.link = chunk.link();
        if expected != Some(chunk.first()) {
            let expected = expected.unwrap_or(Sequence::MAX);
            return Err(format!("a chunk begins at {}, {expected} is next", chunk.first()));
        }
        if chunk.previous() != link && !seeded::is_on(Bug::SkipChain) {
            return Err(format!("a chunk follows {:?}, the chunk before it is {link:?}", chunk.previous()));
        }
        Ok(())
    }
}
