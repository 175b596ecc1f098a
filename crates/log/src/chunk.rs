//! The chunk: the events of one session in one commit, as bytes that are the same in every engine.
//!
//! ```text
//! offset  size
//!      0     1  0xA1: a chunk, format 1
//!      1     4  CRC-32 (as in zlib, little endian) of every byte but these four
//!      5     8  link of the previous chunk of the session, zeros before the first
//!     13     6  base time, milliseconds since 1970, little endian
//!     19   1–8  first sequence   ┐ varints: 7 bits a byte, low bits first,
//!            1…  count            ┘ the shortest form only
//!            …  count records, each a varint length and its bytes
//! ```
//!
//! A chunk's link is the first 8 bytes of the SHA-256 of all its bytes.
//! So a chunk commits to all of history before it: a middle that was rewritten or left out shows.
//! The codec neither knows nor cares what a record says.

use std::fmt;
use std::sync::OnceLock;

use bytes::{BufMut, Bytes};
use riverrun_event::Sequence;
use sha2::{Digest, Sha256};

use crate::UnixMillis;
use crate::seeded::{self, Bug};
use crate::varint;

/// First byte of every chunk. A new format takes a new value; none is ever reused.
const FORMAT: u8 = 0xA1;
const CRC: std::ops::Range<usize> = 1..5;
const LINK: std::ops::Range<usize> = 5..13;
const TIME: std::ops::Range<usize> = 13..19;

/// The largest chunk an engine takes. A commit group is far smaller; this only bounds a reader's memory.
pub const MAX_CHUNK_BYTES: usize = 16 << 20;

/// What a chunk commits its successor to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Link(pub [u8; 8]);

impl Link {
    /// The link before the first chunk of a session.
    pub const START: Link = Link([0; 8]);
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", u64::from_be_bytes(self.0))
    }
}

/// Encoded events with their place in the log. Cloning shares the bytes.
#[derive(Clone)]
pub struct Chunk {
    bytes: Bytes,
    first: Sequence,
    count: u32,
    records: u32,
    link: OnceLock<Link>,
}

/// Why bytes are not a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ChunkError {
    /// So few bytes cannot be a chunk.
    #[error("it has {0} bytes, which is too short")]
    TooShort(usize),
    /// So many bytes are more than a chunk may have.
    #[error("it has {0} bytes, the limit is {MAX_CHUNK_BYTES}")]
    TooLong(usize),
    /// The first byte names a format that is not known here.
    #[error("it begins with {0:#04x}, which is no known format")]
    UnknownFormat(u8),
    /// The bytes do not fit their checksum.
    #[error("its checksum is {found:#010x}, its bytes give {computed:#010x}")]
    Checksum {
        /// The checksum in the chunk.
        found: u32,
        /// The checksum of its bytes.
        computed: u32,
    },
    /// The header cannot be read.
    #[error("its header is malformed")]
    Header,
    /// The lengths of the records do not fit the chunk.
    #[error("its records do not fill it exactly")]
    Records,
}

impl Chunk {
    /// Reads and checks a chunk. Total: any bytes give a chunk or an error, and any flipped bit an error.
    pub fn decode(bytes: Bytes) -> Result<Self, ChunkError> {
        if bytes.len() <= TIME.end {
            return Err(ChunkError::TooShort(bytes.len()));
        }
        if bytes.len() > MAX_CHUNK_BYTES {
            return Err(ChunkError::TooLong(bytes.len()));
        }
        if bytes[0] != FORMAT {
            return Err(ChunkError::UnknownFormat(bytes[0]));
        }
        let found = u32::from_le_bytes([bytes[1], bytes[2], bytes[3], bytes[4]]);
        let computed = checksum(&bytes);
        if found != computed && !seeded::is_on(Bug::SkipCrc) {
            return Err(ChunkError::Checksum { found, computed });
        }
        let mut at = TIME.end;
        let first = varint::read(&bytes, &mut at).and_then(Sequence::new).ok_or(ChunkError::Header)?;
        let count =
            varint::read(&bytes, &mut at).and_then(|n| u32::try_from(n).ok()).ok_or(ChunkError::Header)?;
        if first == Sequence::ZERO || count == 0 || first.plus(u64::from(count) - 1).is_none() {
            return Err(ChunkError::Header);
        }
        check_records(&bytes, at, count)?;
        let records = u32::try_from(at).map_err(|_| ChunkError::Header)?;
        Ok(Self { bytes, first, count, records, link: OnceLock::new() })
    }

    /// The encoded form.
    pub const fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The first event.
    pub const fn first(&self) -> Sequence {
        self.first
    }

    /// The last event.
    pub fn last(&self) -> Sequence {
        self.first.plus(u64::from(self.count) - 1).unwrap_or(Sequence::MAX)
    }

    /// The number of events.
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// The base time: when the owner built the chunk.
    pub fn time(&self) -> UnixMillis {
        let mut millis = [0; 8];
        millis[..6].copy_from_slice(&self.bytes[TIME]);
        UnixMillis::from_millis(u64::from_le_bytes(millis))
    }

    /// The link of the chunk before this one.
    pub fn previous(&self) -> Link {
        let mut link = Link::START;
        link.0.copy_from_slice(&self.bytes[LINK]);
        link
    }

    /// What the next chunk must name as its previous one.
    pub fn link(&self) -> Link {
        *self.link.get_or_init(|| {
            let digest = Sha256::digest(&self.bytes);
            let mut link = Link::START;
            link.0.copy_from_slice(&digest[..8]);
            link
        })
    }

    /// The records in order, with their sequences.
    pub fn records(&self) -> Records<'_> {
        Records {
            bytes: &self.bytes,
            at: self.records as usize,
            next: self.first.get(),
            end: self.last().get(),
        }
    }

    /// The records behind `after`: a chunk is read whole, even when a reader stands in its middle.
    pub fn records_after(&self, after: Sequence) -> impl Iterator<Item = (Sequence, &[u8])> {
        self.records().skip_while(move |(sequence, _)| *sequence <= after)
    }
}

/// Equal bytes are equal chunks.
impl PartialEq for Chunk {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for Chunk {}

impl fmt::Debug for Chunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chunk({}..={}, {} bytes)", self.first, self.last(), self.bytes.len())
    }
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&bytes[..CRC.start]);
    crc.update(&bytes[CRC.end..]);
    crc.finalize()
}

fn check_records(bytes: &[u8], mut at: usize, count: u32) -> Result<(), ChunkError> {
    for _ in 0..count {
        let length = varint::read(bytes, &mut at).ok_or(ChunkError::Records)?;
        let length = usize::try_from(length).map_err(|_| ChunkError::Records)?;
        at = at.checked_add(length).filter(|end| *end <= bytes.len()).ok_or(ChunkError::Records)?;
    }
    if at == bytes.len() { Ok(()) } else { Err(ChunkError::Records) }
}

/// The records of one chunk.
#[derive(Debug, Clone)]
pub struct Records<'a> {
    bytes: &'a [u8],
    at: usize,
    next: u64,
    end: u64,
}

impl<'a> Iterator for Records<'a> {
    type Item = (Sequence, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        if self.next > self.end {
            return None;
        }
        let length = usize::try_from(varint::read(self.bytes, &mut self.at)?).ok()?;
        let record = self.bytes.get(self.at..self.at.checked_add(length)?)?;
        let sequence = Sequence::new(self.next)?;
        self.at += length;
        self.next += 1;
        Some((sequence, record))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from((self.end + 1).saturating_sub(self.next)).unwrap_or(usize::MAX);
        (left, Some(left))
    }
}

/// Builds the chunk that follows a known head.
///
/// ```text
/// head: last = 4, link = L       ChunkBuilder::new(5, L, now) ─push─push─▶ finish ─▶ chunk 5..=6, previous = L
/// ```
#[derive(Debug)]
pub struct ChunkBuilder {
    first: Sequence,
    count: u32,
    /// The chunk as it will be, with one byte for its count: nearly every chunk has fewer than 128 records.
    bytes: Vec<u8>,
    /// Where the records begin.
    records: usize,
}

impl ChunkBuilder {
    /// A chunk that begins with the event `first`, behind the chunk with the hash `previous`.
    pub fn new(first: Sequence, previous: Link, time: UnixMillis) -> Self {
        Self::with_room(first, previous, time, 0)
    }

    /// With room for so many bytes of records and their lengths.
    pub fn with_room(first: Sequence, previous: Link, time: UnixMillis, room: usize) -> Self {
        let mut bytes = Vec::with_capacity(TIME.end + 9 + room);
        bytes.put_u8(FORMAT);
        bytes.put_u32_le(0);
        bytes.put_slice(&previous.0);
        bytes.put_slice(&time.millis().to_le_bytes()[..6]);
        varint::write(&mut bytes, first.get());
        bytes.put_u8(0);
        let records = bytes.len();
        Self { first, count: 0, bytes, records }
    }

    /// Appends a record.
    pub fn push(&mut self, record: &[u8]) {
        self.push_with(record.len(), |out| out.extend_from_slice(record));
    }

    /// Pushes a record of `length` bytes, which `write` appends.
    pub fn push_with(&mut self, length: usize, write: impl FnOnce(&mut Vec<u8>)) {
        varint::write(&mut self.bytes, length as u64);
        let begin = self.bytes.len();
        write(&mut self.bytes);
        debug_assert_eq!(self.bytes.len() - begin, length, "a record is as long as it was said to be");
        self.count += 1;
    }

    /// The number of records so far.
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// The bytes that the records take so far.
    pub fn size(&self) -> usize {
        self.bytes.len() - self.records
    }

    /// The sequence that the next pushed record gets, or None when the log would be exhausted.
    pub const fn next(&self) -> Option<Sequence> {
        self.first.plus(self.count as u64)
    }

    /// None if no record was pushed, the chunk is over [`MAX_CHUNK_BYTES`], or its sequences leave the range.
    pub fn finish(self) -> Option<Chunk> {
        if self.count == 0 || self.first == Sequence::ZERO {
            return None;
        }
        let Self { first, count, mut bytes, mut records } = self;
        first.plus(u64::from(count) - 1)?;
        let mut length = Vec::with_capacity(5);
        varint::write(&mut length, u64::from(count));
        let at = records - 1;
        records = at + length.len();
        match length.as_slice() {
            [only] => bytes[at] = *only,
            longer => drop(bytes.splice(at..=at, longer.iter().copied())),
        }
        if bytes.len() > MAX_CHUNK_BYTES {
            return None;
        }
        let crc = checksum(&bytes);
        bytes[CRC].copy_from_slice(&crc.to_le_bytes());
        let records = u32::try_from(records).ok()?;
        Some(Chunk { bytes: bytes.into(), first, count, records, link: OnceLock::new() })
    }
}
