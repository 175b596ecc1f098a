//! A segment: many chunks of one session, verbatim, in one compressed row.
//!
//! Keeping the chunks as they are keeps their checksums and links: a packed log can be checked like a fresh one, and
//! a retry of a packed chunk is still recognised.

use std::cell::RefCell;

use bytes::{BufMut, Bytes, BytesMut};
use riverrun_event::Sequence;
use riverrun_log::{Chunk, Link, UnixMillis, varint};
use rusqlite::types::ToSqlOutput;
use rusqlite::{Connection, Row, ToSql, params};
use zstd::bulk::{Compressor, Decompressor};

/// A segment ends when its chunks reach this size: what one read has to unpack at least.
pub const SEGMENT_BYTES: usize = 256 << 10;
/// A last segment smaller than this is packed again together with what follows it.
pub const SMALL_BYTES: u64 = 64 << 10;
/// Denser levels cost the committing machine more than they save.
const LEVEL: i32 = 3;
/// Bounds what a damaged length can make a reader allocate: one chunk of the largest size and a segment before it.
const MAX_RAW_BYTES: usize = riverrun_log::MAX_CHUNK_BYTES + SEGMENT_BYTES + 16;

/// A row of the table, packed.
pub struct Segment {
    pub first: Sequence,
    pub last: Sequence,
    pub link: Link,
    pub newest: UnixMillis,
    pub events: u64,
    pub raw_bytes: u64,
    pub bytes: Vec<u8>,
}

/// Links are stored as integers, which take no more room than their bytes.
pub struct LinkColumn(pub Link);

impl ToSql for LinkColumn {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(i64::from_be_bytes(self.0.0).into())
    }
}

pub fn link_at(row: &Row<'_>, column: usize) -> rusqlite::Result<Link> {
    Ok(Link(row.get::<_, i64>(column)?.to_be_bytes()))
}

/// A value that does not fit is damage; the caller meets it as a place that does not fit the chain.
pub fn sequence_at(row: &Row<'_>, column: usize) -> rusqlite::Result<Sequence> {
    let value: i64 = row.get(column)?;
    let sequence = u64::try_from(value).ok().and_then(Sequence::new);
    sequence.ok_or(rusqlite::Error::IntegralValueOutOfRange(column, value))
}

pub const fn number(sequence: Sequence) -> i64 {
    // At most 2^53 - 1.
    sequence.get() as i64
}

/// Packs chunks that follow each other into segments of about [`SEGMENT_BYTES`].
pub fn pack(chunks: &[Chunk]) -> std::io::Result<Vec<Segment>> {
    let mut segments = Vec::new();
    let mut remaining = chunks;
    while !remaining.is_empty() {
        let mut bytes = 0;
        let fits = |chunk: &&Chunk| {
            bytes += chunk.bytes().len();
            bytes <= SEGMENT_BYTES
        };
        let count = remaining.iter().take_while(fits).count().max(1);
        let (now, later) = remaining.split_at(count);
        segments.push(pack_one(now)?);
        remaining = later;
    }
    Ok(segments)
}

fn pack_one(chunks: &[Chunk]) -> std::io::Result<Segment> {
    let mut raw = BytesMut::new();
    for chunk in chunks {
        varint::write(&mut raw, chunk.bytes().len() as u64);
        raw.put_slice(chunk.bytes());
    }
    let last = chunks.last();
    Ok(Segment {
        first: chunks.first().map_or(Sequence::ZERO, Chunk::first),
        last: last.map_or(Sequence::ZERO, Chunk::last),
        link: last.map_or(Link::START, Chunk::link),
        newest: chunks.iter().map(Chunk::time).max().unwrap_or_default(),
        events: chunks.iter().map(|chunk| u64::from(chunk.count())).sum(),
        raw_bytes: raw.len() as u64,
        bytes: compress(&raw)?,
    })
}

thread_local! {
    // Making these costs more than using them once, and only a few threads ever do.
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

fn compress(raw: &[u8]) -> std::io::Result<Vec<u8>> {
    COMPRESSOR.with_borrow_mut(|cached| {
        if let Some(compressor) = cached {
            return compressor.compress(raw);
        }
        let mut compressor = Compressor::new(LEVEL)?;
        compressor.include_checksum(true)?;
        cached.insert(compressor).compress(raw)
    })
}

fn decompress(bytes: &[u8], size: usize) -> std::io::Result<Vec<u8>> {
    DECOMPRESSOR.with_borrow_mut(|cached| match cached {
        Some(decompressor) => decompressor.decompress(bytes, size),
        None => cached.insert(Decompressor::new()?).decompress(bytes, size),
    })
}

/// The chunks of a row, each checked, all following each other from `first` to `last`.
pub fn unpack(bytes: &[u8], first: Sequence, last: Sequence, raw_bytes: u64) -> Result<Vec<Chunk>, String> {
    let size = usize::try_from(raw_bytes).unwrap_or(usize::MAX).min(MAX_RAW_BYTES);
    let raw = decompress(bytes, size).map_err(|error| format!("a segment does not unpack: {error}"))?;
    let raw = Bytes::from(raw);
    let mut chunks = Vec::new();
    let mut at = 0;
    let mut next = Some(first);
    while at < raw.len() {
        let length = varint::read(&raw, &mut at).and_then(|length| usize::try_from(length).ok());
        let end = length.and_then(|length| at.checked_add(length)).filter(|end| *end <= raw.len());
        let end = end.ok_or("a segment holds a chunk without an end")?;
        let chunk = Chunk::decode(raw.slice(at..end)).map_err(|error| error.to_string())?;
        if Some(chunk.first()) != next {
            return Err(format!("a segment holds {} out of order", chunk.first()));
        }
        next = chunk.last().next();
        at = end;
        chunks.push(chunk);
    }
    match chunks.last() {
        Some(chunk) if chunk.last() == last => Ok(chunks),
        Some(_) | None => Err(format!("a segment does not end at {last}")),
    }
}

pub fn insert(connection: &Connection, session: i64, segment: &Segment) -> rusqlite::Result<()> {
    let sql = "INSERT INTO segments (session, first, last, link, newest, events, raw_bytes, bytes)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    connection.prepare_cached(sql)?.execute(params![
        session,
        number(segment.first),
        number(segment.last),
        LinkColumn(segment.link),
        segment.newest.millis() as i64,
        segment.events as i64,
        segment.raw_bytes as i64,
        segment.bytes
    ])?;
    Ok(())
}
