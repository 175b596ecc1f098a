//! What a process writes, in parts that are fit to be told: not one for each byte, and not without end.

use std::time::Duration;

use tokio::time::Instant;

use crate::host::{LargeOutput, OutputPart, OutputStream};

/// The first bytes of a stream stand in events; what follows is stored beside them.
pub(super) const INLINE: u64 = 16 * 1024;
/// The largest part that stands in an event.
const PART: usize = 4 * 1024;
/// The largest part that is stored beside them.
const SEGMENT: usize = 256 * 1024;
/// How long output may wait for more of its kind.
const SOON: Duration = Duration::from_millis(100);
const LATER: Duration = Duration::from_secs(2);
/// Bytes of the end that are always kept.
const TAIL: usize = 4 * 1024;

pub(super) struct Spool {
    stream: OutputStream,
    pending: Vec<u8>,
    /// Where the pending bytes begin in the stream.
    offset: u64,
    since: Option<Instant>,
    head: Vec<u8>,
    tail: Vec<u8>,
    pub total: u64,
    limit: usize,
}

/// When a part is to be made of what waits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// There is enough.
    Full,
    /// It has waited.
    Due,
    /// The last chunk.
    Last,
}

impl Spool {
    pub fn new(stream: OutputStream, limit: usize) -> Self {
        let (pending, head, tail) = (Vec::new(), Vec::new(), Vec::new());
        Self { stream, pending, offset: 0, since: None, head, tail, total: 0, limit }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        self.tail.extend_from_slice(&bytes[bytes.len().saturating_sub(TAIL)..]);
        let beyond = self.tail.len().saturating_sub(TAIL);
        self.tail.drain(..beyond);
        let room = self.limit - self.head.len();
        let bytes = &bytes[..bytes.len().min(room)];
        self.head.extend_from_slice(bytes);
        self.pending.extend_from_slice(bytes);
        if !self.pending.is_empty() {
            self.since.get_or_insert_with(Instant::now);
        }
    }

    /// The time at which what waits has waited long enough.
    pub fn due(&self) -> Option<Instant> {
        let patience = if self.is_inline() { SOON } else { LATER };
        self.since.map(|since| since + patience)
    }

    /// The last place that cannot hold any character is left empty.
    fn is_inline(&self) -> bool {
        self.offset + 4 <= INLINE
    }

    pub fn part(&mut self, when: When) -> Option<OutputPart> {
        let is_inline = self.is_inline();
        let most = match is_inline {
            true => PART.min(usize::try_from(INLINE - self.offset).unwrap_or(PART)),
            false => SEGMENT,
        };
        if self.pending.is_empty() || (when == When::Full && self.pending.len() < most) {
            return None;
        }
        let mut length = self.pending.len().min(most);
        if when != When::Last || length < self.pending.len() {
            length = whole(&self.pending[..length]);
        }
        self.since = (length < self.pending.len()).then(Instant::now);
        if length == 0 {
            return None;
        }
        let bytes: Vec<u8> = self.pending.drain(..length).collect();
        let part = OutputPart { stream: self.stream, offset: self.offset, bytes, is_inline };
        self.offset += length as u64;
        Some(part)
    }

    /// All of it, or its beginning and its end.
    pub fn shown(&self, most: usize) -> String {
        if self.total <= most as u64 {
            return String::from_utf8_lossy(&self.head).into_owned();
        }
        let end = (most / 4).min(self.tail.len());
        let head = &self.head[..(most - end).min(self.head.len())];
        let head = String::from_utf8_lossy(&head[..whole(head)]).into_owned();
        let tail = String::from_utf8_lossy(&self.tail[self.tail.len() - end..]);
        let tail = tail.trim_start_matches('\u{fffd}');
        let left_out = self.total - (head.len() + tail.len()).min(most) as u64;
        format!("{head}\n[… {left_out} of {} bytes left out …]\n{tail}", self.total)
    }

    pub fn limit(&self) -> u64 {
        self.limit as u64
    }

    pub fn large(&mut self) -> Option<LargeOutput> {
        let bytes = std::mem::take(&mut self.head);
        (self.total > INLINE).then_some(LargeOutput { stream: self.stream, bytes, total: self.total })
    }
}

/// The length without the beginning of a character that is not there as a whole. Bytes that are no text are taken.
fn whole(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Ok(_) | Err(_) => bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything that the spool tells of these bytes, pushed in pieces of this size.
    fn spool_all(bytes: &[u8], piece: usize, limit: usize) -> (Vec<OutputPart>, Spool) {
        let mut spool = Spool::new(OutputStream::Stdout, limit);
        let mut parts = Vec::new();
        for piece in bytes.chunks(piece) {
            spool.push(piece);
            parts.extend(std::iter::from_fn(|| spool.part(When::Full)));
        }
        parts.extend(std::iter::from_fn(|| spool.part(When::Last)));
        (parts, spool)
    }

    #[tokio::test]
    async fn parts_are_the_stream_without_a_gap_and_few() {
        let text = "né€𝄞".repeat(60_000).into_bytes();
        for piece in [1000, 4096, 16 * 1024, text.len()] {
            let (parts, spool) = spool_all(&text, piece, usize::MAX);
            let joined: Vec<u8> = parts.iter().flat_map(|part| part.bytes.clone()).collect();
            assert!(joined == text, "what was told is not what was written, by {piece}");
            assert!(parts.len() < 12, "{} parts", parts.len());
            assert!(parts.iter().all(|part| std::str::from_utf8(&part.bytes).is_ok()), "a character was cut");
            let inline = parts.iter().filter(|part| part.is_inline);
            let inline: usize = inline.map(|part| part.bytes.len()).sum();
            assert!(inline as u64 <= INLINE && inline as u64 > INLINE - 4, "{inline} bytes stand in events");
            assert_eq!(spool.total, text.len() as u64);
        }
    }

    #[tokio::test]
    async fn beyond_the_limit_bytes_are_counted_and_the_end_is_shown() {
        let text: String = (0..100_000).map(|number| format!("{number}\n")).collect();
        let (parts, mut spool) = spool_all(text.as_bytes(), 5000, 20_000);
        assert_eq!(parts.iter().map(|part| part.bytes.len()).sum::<usize>(), 20_000);
        let shown = spool.shown(1000);
        assert!(shown.starts_with("0\n1\n2\n") && shown.ends_with("99998\n99999\n"), "{shown}");
        assert!(shown.len() < 1100 && shown.contains("left out"), "{shown}");
        let large = spool.large().expect("it is large");
        assert_eq!((large.bytes.len(), large.total), (20_000, text.len() as u64));
    }

    #[tokio::test]
    async fn half_a_character_waits_for_the_other_half_unless_none_comes() {
        let mut spool = Spool::new(OutputStream::Stderr, 100);
        spool.push(&[b'a', 0xe2, 0x82]);
        assert_eq!(spool.part(When::Due).map(|part| part.bytes), Some(vec![b'a']));
        assert_eq!(spool.part(When::Due), None);
        assert_eq!(spool.part(When::Last).map(|part| part.bytes), Some(vec![0xe2, 0x82]));
        assert!(spool.large().is_none(), "three bytes are not large");
    }
}
