//! What survives a close and an open, and what a backup holds. Engines that keep nothing skip these.

use bytes::Bytes;

use super::Case;
use super::bench::*;
use crate::{Append, CommandState, Fact, NewCommand, ProducerState, Snapshot, TaskFact};

pub const CASES: &[Case] = &[
    ("everything_survives_reopening", everything_survives_reopening),
    ("a_stale_epoch_stays_stale_after_reopening", a_stale_epoch_stays_stale_after_reopening),
    ("sequences_and_links_go_on_after_reopening", sequences_and_links_go_on_after_reopening),
    ("a_deleted_session_stays_deleted_after_reopening", a_deleted_session_stays_deleted),
    ("a_backup_holds_what_was_committed_and_is_another_incarnation", a_backup_is_another_incarnation),
    ("a_backup_does_not_overwrite", a_backup_does_not_overwrite),
];

fn everything_survives_reopening(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, key) = (own(&*log), made(&*log, "s"));
    let command = NewCommand {
        id: id("cmd_1"),
        key: key.clone(),
        idempotency_key: "k".to_owned(),
        digest: [3; 32],
        body: Bytes::from_static(b"do it"),
        created_at: time(9),
    };
    ok(log.enqueue(command.clone()));
    append_numbered(&*log, &key, epoch, 1..=20);
    ok(log.seal(&key, seq(10)));
    let chunk = chunk_after(&head(&*log, &key), time(5_000), &[b"record 21"]);
    let task = TaskFact { task: id("task_1"), turn: id("turn_1"), parent: None };
    let request = Append { facts: vec![Fact::Task(task)], ..Append::new(key.clone(), epoch, chunk) };
    ok(log.append(stamped(request, "prod_1", 0, 0)));
    let snapshot = Snapshot { sequence: seq(21), bytes: Bytes::from_static(b"state") };
    ok(log.put_snapshot(&key, snapshot.clone()));
    let record = ok(log.session(&key));
    drop(log);
    if !bench.reopen() {
        return;
    }
    let log = bench.log();
    assert_eq!(ok(log.session(&key)), record);
    assert_eq!(all_records(&*log, &key), numbered(1..=21));
    let state = ProducerState { epoch: 0, sequence: 0, first: seq(21), last: seq(21) };
    assert_eq!(ok(log.producer(&key, &id("prod_1"))), Some(state));
    assert_eq!(ok(log.snapshot(&key, seq(99))).snapshot, Some(snapshot));
    assert_eq!(ok(log.find_task(&id("acme"), &id("task_1"))).len(), 1);
    let pending = all_pending_commands(&*log);
    assert_eq!(
        pending.iter().map(|c| (&c.request, &c.state)).collect::<Vec<_>>(),
        [(&command, &CommandState::Pending)]
    );
    assert_eq!(ok(log.verify()).defects, []);
}

fn a_stale_epoch_stays_stale_after_reopening(bench: &mut dyn Bench) {
    let log = bench.log();
    let (stale, key) = (own(&*log), made(&*log, "s"));
    let chunk = chunk_after(&head(&*log, &key), time(1), &[b"late"]);
    drop(log);
    if !bench.reopen() {
        return;
    }
    let log = bench.log();
    // The former process is dead, so another owner need not wait for the lease to run out.
    let current = ok(log.acquire(log.shard_of(&key), &id("own_2"), TTL)).epoch;
    assert!(current > stale);
    let error = refused(log.append(Append::new(key, stale, chunk)));
    assert_eq!(error, crate::LogError::Fenced { used: stale, current });
}

fn sequences_and_links_go_on_after_reopening(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, key) = (own(&*log), made(&*log, "s"));
    append_numbered(&*log, &key, epoch, 1..=3);
    let before = head(&*log, &key);
    drop(log);
    if !bench.reopen() {
        return;
    }
    let log = bench.log();
    assert_eq!(head(&*log, &key), before);
    let epoch = own(&*log);
    append_numbered(&*log, &key, epoch, 4..=6);
    assert_eq!(all_records(&*log, &key), numbered(1..=6));
    assert_eq!(ok(log.verify()).defects, []);
}

fn a_deleted_session_stays_deleted(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, key, other) = (own(&*log), made(&*log, "s"), made(&*log, "other"));
    append_numbered(&*log, &key, epoch, 1..=3);
    append_numbered(&*log, &other, epoch, 1..=3);
    ok(log.delete_session(&key));
    drop(log);
    if !bench.reopen() {
        return;
    }
    let log = bench.log();
    assert_eq!(ok(log.head(&key)), None);
    made(&*log, "s");
    assert_eq!(all_records(&*log, &key), []);
    assert_eq!(all_records(&*log, &other), numbered(1..=3));
    assert_eq!(ok(log.verify()).defects, []);
}

fn a_backup_is_another_incarnation(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, key) = (own(&*log), made(&*log, "s"));
    append_numbered(&*log, &key, epoch, 1..=30);
    ok(log.seal(&key, seq(20)));
    let path = bench.scratch();
    if matches!(log.backup(&path).wait(), Err(crate::LogError::Invalid { .. })) {
        return;
    }
    append_numbered(&*log, &key, epoch, 31..=31);
    let Some(copy) = bench.open_backup(&path) else { panic!("a backup was written, so it can be opened") };
    assert_eq!(all_records(&*copy, &key), numbered(1..=30));
    assert_ne!(head(&*copy, &key).incarnation, head(&*log, &key).incarnation);
    assert_eq!(ok(copy.verify()).defects, []);
    let epoch = own(&*copy);
    append_numbered(&*copy, &key, epoch, 31..=32);
    assert_eq!(all_records(&*log, &key), numbered(1..=31), "the original goes its own way");
}

fn a_backup_does_not_overwrite(bench: &mut dyn Bench) {
    let path = bench.scratch();
    assert!(std::fs::write(&path, b"precious").is_ok());
    let error = refused(bench.log().backup(&path));
    assert!(matches!(error, crate::LogError::Invalid { .. }), "{error}");
    assert_eq!(std::fs::read(&path).ok().as_deref(), Some(b"precious".as_slice()));
    assert!(std::fs::remove_file(&path).is_ok());
}
