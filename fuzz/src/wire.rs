//! Bytes from a disk or a socket, in whatever pieces they come.

use bytes::Bytes;
use riverrun_event::Sequence;
use riverrun_log::{Chunk, ChunkBuilder, Link, UnixMillis};

// The file belongs to a crate that would take minutes to compile with counters, and needs nothing of it.
#[path = "../../crates/provider/src/stream/sse.rs"]
#[allow(dead_code, reason = "not all of it is read here")]
mod sse_reader;

use crate::websocket_frames::close::Close;
use crate::websocket_frames::reader::{Bounds, Heard, Reader};
use sse_reader::SseParser;

/// Damaged chunks are refused; a good one has its records, in order. The bytes are read as they are, and once more
/// with the checksum that fits them: chance does not find it.
pub fn chunk(bytes: &[u8]) {
    read_chunk(Bytes::copy_from_slice(bytes));
    if let [format, _, _, _, _, behind @ ..] = bytes {
        let mut sum = crc32fast::Hasher::new();
        sum.update(&[*format]);
        sum.update(behind);
        read_chunk([&[*format][..], &sum.finalize().to_le_bytes(), behind].concat().into());
    }
}

fn read_chunk(bytes: Bytes) {
    let Ok(chunk) = Chunk::decode(bytes.clone()) else { return };
    assert_eq!(chunk.bytes(), &bytes);
    assert_eq!(chunk.records().count(), chunk.count() as usize);
    let behind = chunk.records_after(chunk.first());
    assert!(behind.zip(chunk.first().get() + 1..).all(|((sequence, _), at)| sequence.get() == at));
    assert_eq!(chunk.last().get() - chunk.first().get() + 1, u64::from(chunk.count()));
}

/// What a builder makes is decoded to the same records, and no flipped bit passes.
pub fn chunk_builder(bytes: &[u8]) {
    let [seed, records @ ..] = bytes else { return };
    let first = Sequence::new(u64::from(*seed) + 1).expect("in range");
    let mut builder = ChunkBuilder::new(first, Link::START, UnixMillis::from_millis(u64::from(*seed)));
    let parts: Vec<&[u8]> = records.split(|byte| byte == seed).collect();
    parts.iter().for_each(|part| builder.push(part));
    let Some(chunk) = builder.finish() else { return };
    let decoded = Chunk::decode(chunk.bytes().clone()).expect("just encoded");
    assert_eq!(decoded, chunk);
    assert!(decoded.records().map(|(_, record)| record).eq(parts.iter().copied()));
    let mut damaged = chunk.bytes().to_vec();
    let at = usize::from(*seed) * damaged.len() / 256;
    damaged[at] ^= 1 << (seed % 8);
    assert!(Chunk::decode(damaged.into()).is_err(), "byte {at}");
}

/// Every split of the bytes gives the same frames and the same error.
pub fn sse(bytes: &[u8]) {
    const LIMIT: usize = 64;
    let read = |pieces: &mut dyn Iterator<Item = &[u8]>| {
        let (mut parser, mut frames) = (SseParser::new(LIMIT), Vec::new());
        let mut result = Ok(());
        for piece in pieces {
            result = parser.push(piece, &mut frames);
        }
        (frames, result)
    };
    let whole = read(&mut std::iter::once(bytes));
    assert_eq!(whole, read(&mut bytes.chunks(1)));
    assert_eq!(whole, read(&mut bytes.chunks(3)));
    assert!(whole.0.iter().all(|frame| frame.data.len() <= LIMIT));
}

/// Every split of the bytes gives the same messages and the same end.
pub fn websocket(bytes: &[u8]) {
    const BOUNDS: Bounds = Bounds { message_bytes: 64, frame_bytes: 48, fragments: 4 };
    let read = |step: usize| {
        let (mut reader, mut heard) = (Reader::new(BOUNDS), Vec::<Result<Heard, Close>>::new());
        for part in bytes.chunks(step) {
            let mut at = 0;
            while at < part.len() {
                match reader.take(&part[at..]) {
                    Ok((taken, message)) => {
                        assert!(taken > 0 || message.is_some(), "no progress");
                        at += taken;
                        heard.extend(message.map(Ok));
                    }
                    Err(close) => {
                        heard.push(Err(close));
                        return heard;
                    }
                }
                assert!(reader.held() <= BOUNDS.message_bytes);
            }
        }
        heard
    };
    let whole = read(bytes.len().max(1));
    assert_eq!(whole, read(1));
    assert_eq!(whole, read(7));
    for close in whole.iter().filter_map(|heard| heard.as_ref().err()) {
        assert!(close.reason().len() <= 123 && close.code() >= 1000);
    }
}
