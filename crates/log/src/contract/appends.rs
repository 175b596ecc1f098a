//! Compare and append, retries, producers, reads.

use super::Case;
use super::bench::*;
use crate::{Append, LogError, ProducerState, SessionSpec};

pub const CASES: &[Case] = &[
    ("sequences_are_dense_from_one", sequences_are_dense_from_one),
    ("records_come_back_byte_for_byte", records_come_back_byte_for_byte),
    ("a_chunk_is_read_whole_from_its_middle", a_chunk_is_read_whole_from_its_middle),
    ("reads_stop_at_max_bytes_but_give_at_least_one_chunk", reads_stop_at_max_bytes),
    ("reading_at_or_past_the_head_is_empty", reading_at_or_past_the_head_is_empty),
    ("an_append_that_does_not_follow_the_head_conflicts", an_append_that_does_not_follow_conflicts),
    ("a_chunk_that_names_another_past_conflicts", a_chunk_that_names_another_past_conflicts),
    ("the_very_same_chunk_again_is_a_success_without_effect", the_very_same_chunk_again_is_a_no_op),
    ("other_bytes_at_the_same_place_conflict", other_bytes_at_the_same_place_conflict),
    ("an_absent_session_takes_no_append", an_absent_session_takes_no_append),
    ("a_log_ends_at_the_largest_sequence", a_log_ends_at_the_largest_sequence),
    ("a_producer_stamp_is_stored_with_its_append", a_producer_stamp_is_stored_with_its_append),
    ("a_producer_cannot_repeat_skip_or_go_back", a_producer_cannot_repeat_skip_or_go_back),
    ("sessions_do_not_share_sequences_or_producers", sessions_do_not_share_sequences_or_producers),
];

fn sequences_are_dense_from_one(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, key) = (own(&*log), made(&*log, "s"));
    let one = append(&*log, &key, epoch, &[b"a"]);
    let more = append(&*log, &key, epoch, &[b"b", b"c", b"d"]);
    assert_eq!([one.first, one.last, more.first, more.last].map(|s| s.get()), [1, 1, 2, 4]);
    let head = head(&*log, &key);
    assert_eq!((head.last, head.link, head.first_available), (seq(4), more.link, seq(1)));
}

fn records_come_back_byte_for_byte(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, key) = (own(&*log), made(&*log, "s"));
    let odd: &[&[u8]] = &[b"", b"\0\xff\n", "你好".as_bytes(), &[7; 70_000]];
    append(&*log, &key, epoch, odd);
    let records: Vec<_> = all_records(&*log, &key).into_iter().map(|(_, record)| record).collect();
    assert_eq!(records, odd);
}

fn a_chunk_is_read_whole_from_its_middle(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, key) = (own(&*log), made(&*log, "s"));
    append(&*log, &key, epoch, &[b"1", b"2"]);
    append(&*log, &key, epoch, &[b"3", b"4", b"5"]);
    let chunks = ok(log.read(&key, seq(3), usize::MAX));
    assert_eq!(chunks.iter().map(|c| (c.first().get(), c.last().get())).collect::<Vec<_>>(), [(3, 5)]);
    let behind: Vec<_> = chunks[0].records_after(seq(3)).map(|(n, record)| (n.get(), record)).collect();
    assert_eq!(behind, [(4, b"4".as_slice()), (5, b"5")]);
}

fn reads_stop_at_max_bytes(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, key) = (own(&*log), made(&*log, "s"));
    for _ in 0..10 {
        append(&*log, &key, epoch, &[&[1; 100]]);
    }
    assert_eq!(ok(log.read(&key, seq(0), 1)).len(), 1);
    let some = ok(log.read(&key, seq(2), 400));
    assert!(some.len() > 1 && some.len() < 8 && some[0].first() == seq(3), "{some:?}");
    assert_eq!(ok(log.read(&key, seq(0), usize::MAX)).len(), 10);
}

fn reading_at_or_past_the_head_is_empty(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, key) = (own(&*log), made(&*log, "s"));
    assert_eq!(ok(log.read(&key, seq(0), usize::MAX)), []);
    append(&*log, &key, epoch, &[b"a"]);
    assert_eq!(ok(log.read(&key, seq(1), usize::MAX)), []);
    assert_eq!(ok(log.read(&key, seq(99), usize::MAX)), []);
    let absent = super::bench::key("absent");
    assert_eq!(refused(log.read(&absent, seq(0), 1)), LogError::NoSession(absent.session));
}

fn an_append_that_does_not_follow_conflicts(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, key) = (own(&*log), made(&*log, "s"));
    let mut ahead = head(&*log, &key);
    ahead.advance(&chunk_after(&ahead, time(1), &[b"never appended"]));
    let gap = chunk_after(&ahead, time(1), &[b"b"]);
    let error = refused(log.append(Append::new(key.clone(), epoch, gap)));
    assert_eq!(error, LogError::Conflict { first: seq(2), head: seq(0) });
    assert_eq!(head(&*log, &key).last, seq(0));
}

fn a_chunk_that_names_another_past_conflicts(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, key) = (own(&*log), made(&*log, "s"));
    append(&*log, &key, epoch, &[b"a"]);
    let mut other = head(&*log, &key);
    other.link = crate::Link([9; 8]);
    let error = refused(log.append(Append::new(key, epoch, chunk_after(&other, time(1), &[b"b"]))));
    assert_eq!(error, LogError::Conflict { first: seq(2), head: seq(1) });
}

fn the_very_same_chunk_again_is_a_no_op(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, key) = (own(&*log), made(&*log, "s"));
    let chunk = chunk_after(&head(&*log, &key), time(1), &[b"a", b"b"]);
    let request = stamped(Append::new(key.clone(), epoch, chunk), "prod_1", 0, 0);
    let first = ok(log.append(request.clone()));
    append(&*log, &key, epoch, &[b"c"]);
    let again = ok(log.append(request));
    assert!(!first.duplicate && again.duplicate);
    assert_eq!((again.first, again.last, again.link), (first.first, first.last, first.link));
    assert_eq!(all_records(&*log, &key).len(), 3);
}

fn other_bytes_at_the_same_place_conflict(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, key) = (own(&*log), made(&*log, "s"));
    let before = head(&*log, &key);
    append(&*log, &key, epoch, &[b"mine"]);
    let other = chunk_after(&before, time(1), &[b"other"]);
    let error = refused(log.append(Append::new(key.clone(), epoch, other)));
    assert_eq!(error, LogError::Conflict { first: seq(1), head: seq(1) });
    assert_eq!(all_records(&*log, &key)[0].1, b"mine".as_slice());
}

fn an_absent_session_takes_no_append(bench: &mut dyn Bench) {
    let log = bench.log();
    let epoch = own(&*log);
    let before = head(&*log, &made(&*log, "s"));
    let chunk = chunk_after(&before, time(1), &[b"a"]);
    let absent = key("absent");
    let error = refused(log.append(Append::new(absent.clone(), epoch, chunk)));
    assert_eq!(error, LogError::NoSession(absent.session.clone()));
    assert_eq!(ok(log.head(&absent)), None);
}

fn a_log_ends_at_the_largest_sequence(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, key) = (own(&*log), key("s"));
    let start_after = seq((1 << 53) - 3);
    ok(log.create_session(&key, SessionSpec { start_after, ..new_session() }));
    let before = head(&*log, &key);
    append(&*log, &key, epoch, &[b"a", b"b"]);
    assert!(head(&*log, &key).next_chunk(time(1)).is_none());
    let late = chunk_after(&before, time(1), &[b"c"]);
    let error = refused(log.append(Append::new(key.clone(), epoch, late)));
    assert_eq!(error, LogError::SequenceExhausted(key.session.clone()));
    assert_eq!(all_records(&*log, &key).len(), 2);
}

fn a_producer_stamp_is_stored_with_its_append(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, key) = (own(&*log), made(&*log, "s"));
    assert_eq!(ok(log.producer(&key, &id("prod_1"))), None);
    for (n, records) in [[b"a".as_slice()].as_slice(), &[b"b", b"c"]].into_iter().enumerate() {
        let chunk = chunk_after(&head(&*log, &key), time(1), records);
        ok(log.append(stamped(Append::new(key.clone(), epoch, chunk), "prod_1", 3, n as u64)));
    }
    let state = ProducerState { epoch: 3, sequence: 1, first: seq(2), last: seq(3) };
    assert_eq!(ok(log.producer(&key, &id("prod_1"))), Some(state));
}

fn a_producer_cannot_repeat_skip_or_go_back(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, key) = (own(&*log), made(&*log, "s"));
    let attempt = |producer_epoch, sequence| {
        let chunk = chunk_after(&head(&*log, &key), time(1), &[b"x"]);
        log.append(stamped(Append::new(key.clone(), epoch, chunk), "prod_1", producer_epoch, sequence))
    };
    let producer = || id("prod_1");
    assert_eq!(refused(attempt(5, 1)), LogError::ProducerGap { producer: producer(), found: 1, expected: 0 });
    ok(attempt(5, 0));
    ok(attempt(5, 1));
    let last = ProducerState { epoch: 5, sequence: 1, first: seq(2), last: seq(2) };
    for sequence in [0, 1] {
        assert_eq!(
            refused(attempt(5, sequence)),
            LogError::ProducerDuplicate { producer: producer(), sequence, last }
        );
    }
    assert_eq!(refused(attempt(5, 3)), LogError::ProducerGap { producer: producer(), found: 3, expected: 2 });
    assert_eq!(refused(attempt(4, 2)), LogError::ProducerStale { producer: producer(), used: 4, current: 5 });
    ok(attempt(6, 0));
    assert_eq!(head(&*log, &key).last, seq(3));
}

fn sessions_do_not_share_sequences_or_producers(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, a) = (own(&*log), made(&*log, "a"));
    let mut b = key("a");
    b.tenant = id("other");
    ok(log.create_session(&b, new_session()));
    for key in [&a, &b] {
        let chunk = chunk_after(&head(&*log, key), time(1), &[key.tenant.as_str().as_bytes()]);
        ok(log.append(stamped(Append::new(key.clone(), epoch, chunk), "prod_1", 0, 0)));
    }
    assert_eq!(all_records(&*log, &a), [(1, "acme".into())]);
    assert_eq!(all_records(&*log, &b), [(1, "other".into())]);
    assert_ne!(head(&*log, &a).incarnation, head(&*log, &b).incarnation);
}
