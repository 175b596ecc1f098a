//! Watches the bytes of requests go by, for what hyper accepts without a word: bare line feeds, and two lengths.
//!
//! Requests may be pipelined, so that one read holds several heads. The scan therefore follows the bodies too and
//! queues what it saw of each head until that request is served.

use std::collections::VecDeque;

/// As much of a line as is needed to read a length.
const LINE_BYTES: usize = 64;

/// What the bytes of one head show.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct HeadFacts {
    /// A line ends without a carriage return.
    pub bare_line_feed: bool,
    /// How many `Content-Length` lines there are.
    pub lengths: u32,
    /// How many `Transfer-Encoding` lines there are.
    pub encodings: u32,
}

#[derive(Debug, Default)]
pub(super) struct RequestScan {
    phase: Phase,
    /// The beginning of the line under way.
    line: Vec<u8>,
    /// The byte before this one.
    previous: u8,
    /// A line of this head was not empty.
    begun: bool,
    facts: HeadFacts,
    length: u64,
    heads: VecDeque<HeadFacts>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Head,
    Body(u64),
    ChunkSize,
    /// The data of a chunk and the line end behind it.
    Chunk(u64),
    Trailer,
    Off,
}

impl RequestScan {
    pub(super) fn next_head(&mut self) -> Option<HeadFacts> {
        self.heads.pop_front()
    }

    /// True if every request is whole, was taken with [`RequestScan::next_head`], and no byte of another followed.
    pub(super) fn is_between_requests(&self) -> bool {
        self.phase == Phase::Head && !self.begun && self.line.is_empty() && self.heads.is_empty()
    }

    pub(super) fn stop(&mut self) {
        *self = Self { phase: Phase::Off, ..Self::default() };
    }

    pub(super) fn look_at(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let taken = match self.phase {
                Phase::Off => return,
                Phase::Body(left) | Phase::Chunk(left) => self.skip(left, bytes.len()),
                Phase::Head | Phase::ChunkSize | Phase::Trailer => self.take_line(bytes),
            };
            bytes = &bytes[taken..];
        }
    }

    fn skip(&mut self, left: u64, available: usize) -> usize {
        let count = usize::try_from(left).unwrap_or(usize::MAX).min(available);
        let left = left - count as u64;
        self.phase = match self.phase {
            Phase::Chunk(_) if left == 0 => Phase::ChunkSize,
            Phase::Chunk(_) => Phase::Chunk(left),
            _ if left == 0 => Phase::Head,
            _ => Phase::Body(left),
        };
        count
    }

    fn take_line(&mut self, bytes: &[u8]) -> usize {
        let end = memchr::memchr(b'\n', bytes);
        let part = &bytes[..end.unwrap_or(bytes.len())];
        let room = LINE_BYTES.saturating_sub(self.line.len()).min(part.len());
        self.line.extend_from_slice(&part[..room]);
        self.previous = part.last().copied().unwrap_or(self.previous);
        let Some(end) = end else { return bytes.len() };
        let has_return = self.previous == b'\r';
        let line = std::mem::take(&mut self.line);
        self.previous = 0;
        match self.phase {
            Phase::Head => self.head_line(line.trim_ascii_end(), has_return),
            Phase::ChunkSize => self.chunk_size(&line),
            Phase::Trailer if line.trim_ascii_end().is_empty() => self.phase = Phase::Head,
            Phase::Trailer | Phase::Body(_) | Phase::Chunk(_) | Phase::Off => {}
        }
        end + 1
    }

    fn head_line(&mut self, line: &[u8], has_return: bool) {
        self.facts.bare_line_feed |= !has_return;
        if line.is_empty() && self.begun {
            return self.head_end();
        }
        // Empty lines before a request are skipped, as hyper skips them.
        self.begun |= !line.is_empty();
        if let Some(value) = value_of(line, b"content-length:") {
            self.facts.lengths += 1;
            self.length =
                std::str::from_utf8(value).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0);
        } else if value_of(line, b"transfer-encoding:").is_some() {
            self.facts.encodings += 1;
        }
    }

    fn head_end(&mut self) {
        let facts = std::mem::take(&mut self.facts);
        self.phase = match std::mem::take(&mut self.length) {
            _ if facts.encodings > 0 => Phase::ChunkSize,
            0 => Phase::Head,
            length => Phase::Body(length),
        };
        self.begun = false;
        self.heads.push_back(facts);
    }

    fn chunk_size(&mut self, line: &[u8]) {
        let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let text = std::str::from_utf8(&line[..digits]).unwrap_or_default();
        self.phase = match u64::from_str_radix(text, 16) {
            Ok(0) => Phase::Trailer,
            Ok(size) => Phase::Chunk(size.saturating_add(2)),
            // hyper ends a connection whose chunks it cannot read.
            Err(_) => Phase::Off,
        };
    }
}

fn value_of<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (head, value) = line.split_at_checked(name.len())?;
    head.eq_ignore_ascii_case(name).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Heads are seen alike whether the bytes come at once or one by one.
    fn check(text: &str, expected: &[HeadFacts]) {
        for step in [text.len(), 1, 7] {
            let mut scan = RequestScan::default();
            text.as_bytes().chunks(step).for_each(|part| scan.look_at(part));
            let seen: Vec<HeadFacts> = std::iter::from_fn(|| scan.next_head()).collect();
            assert_eq!(seen, expected, "in steps of {step}: {text:?}");
        }
    }

    const PLAIN: HeadFacts = HeadFacts { bare_line_feed: false, lengths: 0, encodings: 0 };

    #[test]
    fn only_header_lines_of_the_head_count() {
        let length = HeadFacts { lengths: 1, ..PLAIN };
        check("GET / HTTP/1.1\r\nhost: x\r\nContent-Length: 1\r\n\r\n", &[length]);
        check("GET / HTTP/1.1\r\nx-content-length: 1\r\ncontent-lengths: 1\r\n\r\n", &[PLAIN]);
        let twice = HeadFacts { lengths: 2, ..PLAIN };
        check("GET / HTTP/1.1\r\ncontent-length: 0\r\ncontent-length: 0\r\n\r\n", &[twice]);
        let both = HeadFacts { lengths: 1, encodings: 1, ..PLAIN };
        check("\r\nPOST / HTTP/1.1\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n", &[both]);
    }

    #[test]
    fn a_line_feed_alone_is_seen_wherever_it_stands() {
        let bare = HeadFacts { bare_line_feed: true, ..PLAIN };
        check("GET / HTTP/1.1\nhost: x\n\n", &[bare]);
        check("GET / HTTP/1.1\r\nhost: x\n\r\n", &[bare]);
        check("GET / HTTP/1.1\r\nhost: x\r\n\n", &[bare]);
        check("\nGET / HTTP/1.1\r\nhost: x\r\n\r\n", &[bare]);
    }

    #[test]
    fn a_connection_is_between_requests_when_the_last_body_is_whole_and_nothing_follows() {
        let posted = "POST / HTTP/1.1\r\ncontent-length: 2\r\n\r\nab";
        let chunked = "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n";
        for text in [posted, chunked, "GET / HTTP/1.1\r\n\r\n"] {
            for (more, expected) in [("", true), ("G", false), ("GET / HTTP/1.1\r\n\r\n", false)] {
                let mut scan = RequestScan::default();
                scan.look_at(text.as_bytes());
                scan.look_at(more.as_bytes());
                assert!(!scan.is_between_requests(), "the head is not taken: {text:?}");
                scan.next_head();
                assert_eq!(scan.is_between_requests(), expected, "{text:?} then {more:?}");
            }
            let mut scan = RequestScan::default();
            scan.look_at(&text.as_bytes()[..text.len() - 1]);
            scan.next_head();
            assert!(!scan.is_between_requests(), "cut: {text:?}");
        }
    }

    #[test]
    fn pipelined_requests_are_told_apart() {
        let body = HeadFacts { lengths: 1, ..PLAIN };
        let chunked = HeadFacts { encodings: 1, ..PLAIN };
        let bare = HeadFacts { bare_line_feed: true, ..PLAIN };
        let text = "POST / HTTP/1.1\r\ncontent-length: 6\r\n\r\na\nb\n\nc\
                    POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n\
                    3;x=y\r\n\n\n\n\r\n0\r\ntrailer: 1\r\n\r\n\
                    GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\n\r\n";
        check(text, &[body, chunked, PLAIN, bare]);
    }
}
