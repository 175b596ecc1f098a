//! The chunk codec: what goes in comes out, and nothing else does.

use bytes::Bytes;
use proptest::prelude::*;
use riverrun_event::Sequence;
use riverrun_log::{Chunk, ChunkBuilder, ChunkError, Link, UnixMillis};

fn build(first: u64, link: [u8; 8], time: u64, records: &[Vec<u8>]) -> Option<Chunk> {
    let mut builder = ChunkBuilder::new(Sequence::new(first)?, Link(link), UnixMillis::from_millis(time));
    records.iter().for_each(|record| builder.push(record));
    builder.finish()
}

proptest! {
    #[test]
    fn a_chunk_decodes_to_what_was_built(
        first in 1u64..(1 << 53) - 100,
        link: [u8; 8],
        time in 0u64..1 << 48,
        records in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 1..20),
    ) {
        let built = build(first, link, time, &records).expect("in range");
        let decoded = Chunk::decode(built.bytes().clone()).expect("just built");
        prop_assert_eq!(&decoded, &built);
        prop_assert_eq!(decoded.first().get(), first);
        prop_assert_eq!(decoded.last().get(), first + records.len() as u64 - 1);
        prop_assert_eq!(decoded.previous(), Link(link));
        prop_assert_eq!(decoded.time().millis(), time);
        prop_assert_eq!(decoded.link(), built.link());
        let read: Vec<Vec<u8>> = decoded.records().map(|(_, record)| record.to_vec()).collect();
        prop_assert_eq!(read, records);
    }

    #[test]
    fn any_bytes_decode_or_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Chunk::decode(Bytes::from(bytes));
    }

    #[test]
    fn bytes_with_a_right_checksum_do_not_panic_either(tail in prop::collection::vec(any::<u8>(), 14..80)) {
        let mut bytes = vec![0xA1, 0, 0, 0, 0];
        bytes.extend(&tail);
        let mut crc = crc32fast::Hasher::new();
        crc.update(&bytes[..1]);
        crc.update(&bytes[5..]);
        bytes[1..5].copy_from_slice(&crc.finalize().to_le_bytes());
        if let Ok(chunk) = Chunk::decode(Bytes::from(bytes)) {
            prop_assert_eq!(chunk.records().count(), chunk.count() as usize);
        }
    }
}

#[test]
fn every_flipped_bit_and_every_cut_is_noticed() {
    let chunk = build(41, [7; 8], 1_700_000_000_000, &[b"one".to_vec(), b"two".to_vec()]).expect("in range");
    let bytes = chunk.bytes();
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(Chunk::decode(flipped.into()).is_err(), "bit {bit}");
    }
    for length in 0..bytes.len() {
        assert!(Chunk::decode(bytes.slice(..length)).is_err(), "cut to {length}");
    }
    let mut longer = bytes.to_vec();
    longer.push(0);
    assert!(Chunk::decode(longer.into()).is_err());
}

#[test]
fn zeros_are_no_chunk() {
    assert_eq!(Chunk::decode(vec![0; 64].into()), Err(ChunkError::UnknownFormat(0)));
}

#[test]
fn one_event_costs_at_most_25_bytes_over_its_record() {
    let record = vec![b'x'; 197];
    for first in [1, 1 << 20] {
        let chunk = build(first, [1; 8], 1_700_000_000_000, std::slice::from_ref(&record)).expect("in range");
        assert!(chunk.bytes().len() - record.len() <= 25, "{}", chunk.bytes().len());
    }
}

#[test]
fn an_empty_chunk_and_one_past_the_last_sequence_cannot_be_built() {
    assert_eq!(build(1, [0; 8], 0, &[]), None);
    assert_eq!(build(Sequence::MAX.get(), [0; 8], 0, &[vec![], vec![]]), None);
    assert!(build(Sequence::MAX.get(), [0; 8], 0, &[vec![]]).is_some());
}

/// The count is written behind the records, and takes more than one byte from 128 on: it must not move them.
#[test]
fn a_chunk_has_its_documented_bytes_however_many_records_it_holds() {
    for count in [1_usize, 127, 128, 129, 16_383, 16_384, 20_000] {
        let records: Vec<Vec<u8>> = (0..count).map(|n| n.to_le_bytes()[..n % 4].to_vec()).collect();
        let chunk = build(300, [7; 8], 1_700_000_000_123, &records).expect("in range");
        let mut expected = vec![0xA1, 0, 0, 0, 0];
        expected.extend([7; 8]);
        expected.extend(&1_700_000_000_123_u64.to_le_bytes()[..6]);
        expected.extend([0xAC, 0x02]);
        let mut rest = count;
        while rest >= 0x80 {
            expected.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        expected.push(rest as u8);
        for record in &records {
            expected.push(record.len() as u8);
            expected.extend(record);
        }
        assert_eq!(&chunk.bytes()[5..], &expected[5..], "{count} records");
        let decoded = Chunk::decode(chunk.bytes().clone()).expect("just built");
        assert_eq!((decoded.first(), decoded.count() as usize), (chunk.first(), count));
        let read: Vec<Vec<u8>> = chunk.records().map(|(_, record)| record.to_vec()).collect();
        assert_eq!(read, records, "{count} records");
    }
}
