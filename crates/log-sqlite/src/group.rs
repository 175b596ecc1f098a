//! A commit group as bytes: the chunks of many sessions in one row.
//!
//! ```text
//! 0xB1 │ CRC-32 of the directory │ directory: count, then (session, length) each │ chunks, one after the other
//! ```
//!
//! Each chunk guards itself; the directory's checksum guards whose it is.

use bytes::{BufMut, Bytes, BytesMut};
use riverrun_log::{Chunk, varint};

const FORMAT: u8 = 0xB1;
const DIRECTORY: usize = 5;

pub fn encode<'a>(chunks: impl Iterator<Item = (u64, &'a Chunk)> + Clone) -> BytesMut {
    let (mut count, mut size) = (0, 0);
    for (_, chunk) in chunks.clone() {
        count += 1;
        size += chunk.bytes().len() + 8;
    }
    let mut out = BytesMut::with_capacity(size + 16);
    out.put_u8(FORMAT);
    out.put_u32_le(0);
    varint::write(&mut out, count);
    for (session, chunk) in chunks.clone() {
        varint::write(&mut out, session);
        varint::write(&mut out, chunk.bytes().len() as u64);
    }
    let crc = crc32fast::hash(&out[DIRECTORY..]);
    out[1..DIRECTORY].copy_from_slice(&crc.to_le_bytes());
    for (_, chunk) in chunks {
        out.put_slice(chunk.bytes());
    }
    out
}

/// The parts of a group: whose each is, and its bytes, not yet checked to be a chunk. None if the directory is damaged.
pub fn decode(bytes: &Bytes) -> Option<Vec<(u64, Bytes)>> {
    if *bytes.first()? != FORMAT || bytes.len() < DIRECTORY {
        return None;
    }
    let mut at = DIRECTORY;
    let count = varint::read(bytes, &mut at)?;
    // Each entry takes at least two bytes, so a wild count cannot make a wild allocation.
    let mut directory = Vec::with_capacity(usize::try_from(count).ok()?.min(bytes.len() / 2));
    for _ in 0..count {
        let session = varint::read(bytes, &mut at)?;
        directory.push((session, usize::try_from(varint::read(bytes, &mut at)?).ok()?));
    }
    let stored = u32::from_le_bytes([bytes[1], bytes[2], bytes[3], bytes[4]]);
    if crc32fast::hash(&bytes[DIRECTORY..at]) != stored {
        return None;
    }
    let mut parts = Vec::with_capacity(directory.len());
    for (session, length) in directory {
        let end = at.checked_add(length).filter(|end| *end <= bytes.len())?;
        parts.push((session, bytes.slice(at..end)));
        at = end;
    }
    (at == bytes.len()).then_some(parts)
}

#[cfg(test)]
mod tests {
    use riverrun_event::Sequence;
    use riverrun_log::{ChunkBuilder, Link, UnixMillis};

    use super::*;

    fn chunk(record: &[u8]) -> Chunk {
        let first = Sequence::ZERO.next().expect("1 is in range");
        let mut builder = ChunkBuilder::new(first, Link::START, UnixMillis::default());
        builder.push(record);
        builder.finish().expect("one record")
    }

    #[test]
    fn a_flipped_bit_never_moves_a_chunk_to_another_session() {
        let chunks = [(7, chunk(b"for seven")), (300, chunk(b"for three hundred"))];
        let bytes = encode(chunks.iter().map(|(session, chunk)| (*session, chunk))).freeze();
        let sound = decode(&bytes).expect("just encoded");
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.to_vec();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let Some(parts) = decode(&flipped.into()) else { continue };
            let damaged = parts.iter().filter(|(_, part)| Chunk::decode(part.clone()).is_err()).count();
            assert_eq!(damaged, 1, "bit {bit}");
            let owners: Vec<_> = parts.iter().map(|(session, _)| *session).collect();
            assert_eq!(owners, [7, 300], "bit {bit}");
        }
        assert_eq!(sound.len(), 2);
    }
}
