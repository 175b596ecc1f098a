//! How much of a growing text was told.

/// Bytes that were told, and a hash of them: a text that was replaced is noticed without keeping a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Progress {
    bytes: usize,
    hash: u64,
}

impl Default for Progress {
    fn default() -> Self {
        Self { bytes: 0, hash: OFFSET }
    }
}

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a.
fn hash(seed: u64, text: &str) -> u64 {
    text.bytes().fold(seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

impl Progress {
    /// What comes after what was told; empty if the text is shorter now.
    pub(crate) fn news<'a>(&mut self, text: &'a str) -> &'a str {
        let news = text.get(self.bytes..).unwrap_or_default();
        self.bytes += news.len();
        self.hash = hash(self.hash, news);
        news
    }

    /// False if the text was replaced by another since.
    pub(crate) fn is_beginning_of(&self, text: &str) -> bool {
        text.get(..self.bytes).is_some_and(|sent| hash(OFFSET, sent) == self.hash)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes == 0
    }
}
