//! Sealing, retention, deletion, figures.

use super::Case;
use super::bench::*;
use crate::{Append, Fact, LogError, LogHealth, TaskFact};

pub const CASES: &[Case] = &[
    ("sealing_changes_no_read", sealing_changes_no_read),
    ("a_sealed_chunk_can_be_retried", a_sealed_chunk_can_be_retried),
    ("appends_go_on_after_sealing", appends_go_on_after_sealing),
    ("retired_events_answer_retired_and_the_rest_stays", retired_events_answer_retired),
    ("retention_by_time_keeps_young_chunks", retention_by_time_keeps_young_chunks),
    ("everything_can_be_retired", everything_can_be_retired),
    ("a_deleted_session_is_gone_with_all_it_had", a_deleted_session_is_gone),
    ("a_session_made_again_is_another_incarnation", a_session_made_again_is_another_incarnation),
    ("what_is_meant_for_a_deleted_session_goes_into_no_other", what_is_meant_for_a_deleted_session),
    ("verify_counts_and_finds_nothing_wrong", verify_counts_and_finds_nothing_wrong),
    ("stats_count_events_and_blobs", stats_count_events_and_blobs),
    ("a_closed_log_refuses_everything", a_closed_log_refuses_everything),
];

fn sealing_changes_no_read(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, key) = (own(&*log), made(&*log, "s"));
    append_numbered(&*log, &key, epoch, 1..=60);
    append(&*log, &key, epoch, &[b"record 61", b"record 62", b"record 63"]);
    let before = ok(log.read(&key, seq(0), usize::MAX));
    let sealed = ok(log.seal(&key, seq(40)));
    assert_eq!((sealed.chunks, sealed.events), (40, 40));
    assert_eq!(ok(log.read(&key, seq(0), usize::MAX)), before, "the same chunks, byte for byte");
    for after in 0..63 {
        let chunks = ok(log.read(&key, seq(after), 200));
        assert!(
            chunks[0].first().get() <= after + 1 && chunks[0].last().get() > after,
            "after {after}: {chunks:?}"
        );
    }
    ok(log.seal(&key, seq(63)));
    assert_eq!(all_records(&*log, &key), numbered(1..=63));
    assert_eq!(ok(log.verify()).defects, []);
}

fn a_sealed_chunk_can_be_retried(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, key) = (own(&*log), made(&*log, "s"));
    append_numbered(&*log, &key, epoch, 1..=5);
    let third = ok(log.read(&key, seq(2), 1)).remove(0);
    ok(log.seal(&key, seq(5)));
    assert!(ok(log.append(Append::new(key, epoch, third))).duplicate);
}

fn appends_go_on_after_sealing(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, key) = (own(&*log), made(&*log, "s"));
    append_numbered(&*log, &key, epoch, 1..=5);
    ok(log.seal(&key, seq(5)));
    append_numbered(&*log, &key, epoch, 6..=9);
    ok(log.seal(&key, seq(7)));
    append_numbered(&*log, &key, epoch, 10..=12);
    assert_eq!(all_records(&*log, &key), numbered(1..=12));
    assert_eq!(ok(log.verify()).defects, []);
}

fn retired_events_answer_retired(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, key) = (own(&*log), made(&*log, "s"));
    append_numbered(&*log, &key, epoch, 1..=10);
    append(&*log, &key, epoch, &[b"record 11", b"record 12"]);
    ok(log.seal(&key, seq(6)));
    assert_eq!(ok(log.retire(&key, seq(4), None)), seq(5));
    assert_eq!(refused(log.read(&key, seq(0), 1)), LogError::Retired { first_available: seq(5) });
    assert_eq!(refused(log.read(&key, seq(3), 1)), LogError::Retired { first_available: seq(5) });
    assert_eq!(all_records(&*log, &key), numbered(5..=12));
    assert_eq!(ok(log.retire(&key, seq(2), None)), seq(5), "retention never goes back");
    assert_eq!(ok(log.retire(&key, seq(11), None)), seq(11), "a chunk is kept whole");
    assert_eq!(all_records(&*log, &key), numbered(11..=12));
    append_numbered(&*log, &key, epoch, 13..=13);
    assert_eq!(head(&*log, &key).first_available, seq(11));
    assert_eq!(ok(log.verify()).defects, []);
}

fn retention_by_time_keeps_young_chunks(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, key) = (own(&*log), made(&*log, "s"));
    for at in [100, 200, 300] {
        let chunk = chunk_after(&head(&*log, &key), time(at), &[b"x"]);
        ok(log.append(Append::new(key.clone(), epoch, chunk)));
    }
    assert_eq!(ok(log.retire(&key, seq(3), Some(time(200)))), seq(2));
    assert_eq!(ok(log.retire(&key, seq(3), Some(time(201)))), seq(3));
}

fn everything_can_be_retired(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, key) = (own(&*log), made(&*log, "s"));
    append_numbered(&*log, &key, epoch, 1..=3);
    assert_eq!(ok(log.retire(&key, seq(3), None)), seq(4));
    assert_eq!(ok(log.read(&key, seq(3), 1)), []);
    append_numbered(&*log, &key, epoch, 4..=4);
    assert_eq!(all_records(&*log, &key), numbered(4..=4));
    assert_eq!(ok(log.verify()).defects, []);
}

fn a_deleted_session_is_gone(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, key, other) = (own(&*log), made(&*log, "s"), made(&*log, "other"));
    append_numbered(&*log, &other, epoch, 1..=3);
    let task = TaskFact { task: id("task_1"), turn: id("turn_1"), parent: None };
    let chunk = chunk_after(&head(&*log, &key), time(1), &[b"x"]);
    let request = Append { facts: vec![Fact::Task(task)], ..Append::new(key.clone(), epoch, chunk) };
    ok(log.append(stamped(request, "prod_1", 0, 0)));
    ok(log.seal(&key, seq(1)));
    append(&*log, &key, epoch, &[b"live"]);
    let next = chunk_after(&head(&*log, &key), time(1), &[b"late"]);
    assert!(ok(log.delete_session(&key)));
    assert!(!ok(log.delete_session(&key)));
    assert_eq!((ok(log.head(&key)), ok(log.session(&key))), (None, None));
    let no_session = LogError::NoSession(key.session.clone());
    assert_eq!(refused(log.read(&key, seq(0), 1)), no_session);
    assert_eq!(refused(log.append(Append::new(key.clone(), epoch, next))), no_session);
    assert_eq!(ok(log.find_task(&id("acme"), &id("task_1"))), []);
    assert_eq!(all_records(&*log, &other), numbered(1..=3));
    assert_eq!(ok(log.verify()).defects, []);
}

fn a_session_made_again_is_another_incarnation(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, key) = (own(&*log), made(&*log, "s"));
    let chunk = chunk_after(&head(&*log, &key), time(1), &[b"old"]);
    ok(log.append(stamped(Append::new(key.clone(), epoch, chunk), "prod_1", 0, 0)));
    let before = head(&*log, &key).incarnation;
    ok(log.delete_session(&key));
    made(&*log, "s");
    let again = head(&*log, &key);
    assert_ne!(again.incarnation, before);
    assert_eq!((again.last, ok(log.producer(&key, &id("prod_1")))), (seq(0), None));
    append_numbered(&*log, &key, epoch, 1..=2);
    assert_eq!(all_records(&*log, &key), numbered(1..=2));
}

/// Also where the two logs look alike: both are empty.
fn what_is_meant_for_a_deleted_session(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, key) = (own(&*log), made(&*log, "s"));
    let before = head(&*log, &key);
    let append = |incarnation: u32| {
        let chunk = chunk_after(&before, time(1), &[b"record 1"]);
        Append { incarnation: Some(incarnation), ..Append::new(key.clone(), epoch, chunk) }
    };
    ok(log.delete_session(&key));
    made(&*log, "s");
    assert_eq!(refused(log.append(append(before.incarnation))), LogError::NoSession(key.session.clone()));
    assert!(all_records(&*log, &key).is_empty());
    ok(log.append(append(head(&*log, &key).incarnation)));
    assert_eq!(all_records(&*log, &key), numbered(1..=1));
}

fn verify_counts_and_finds_nothing_wrong(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, a, b) = (own(&*log), made(&*log, "a"), made(&*log, "b"));
    append_numbered(&*log, &a, epoch, 1..=7);
    append(&*log, &b, epoch, &[b"x", b"y"]);
    ok(log.seal(&a, seq(3)));
    let found = ok(log.verify());
    assert_eq!(
        (found.sessions, found.chunks, found.events, found.defects.as_slice()),
        (2, 8, 9, [].as_slice())
    );
}

fn stats_count_events_and_blobs(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, key) = (own(&*log), made(&*log, "s"));
    append_numbered(&*log, &key, epoch, 1..=5);
    let blob = crate::NewBlob { session: None, media_type: "a/b".to_owned(), bytes: vec![0; 100].into() };
    ok(log.put_blob(&id("acme"), blob));
    let stats = ok(log.stats());
    assert_eq!((stats.sessions, stats.events, stats.blob_bytes), (1, 5, 100));
    assert!(stats.event_bytes >= 5 * 8, "{stats:?}");
    assert_eq!(log.health(), LogHealth::Ready);
}

fn a_closed_log_refuses_everything(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, key) = (own(&*log), made(&*log, "s"));
    let chunk = chunk_after(&head(&*log, &key), time(1), &[b"x"]);
    ok(log.close());
    assert_eq!(refused(log.append(Append::new(key.clone(), epoch, chunk))), LogError::Closed);
    assert_eq!(refused(log.read(&key, seq(0), 1)), LogError::Closed);
    ok(log.close());
}
