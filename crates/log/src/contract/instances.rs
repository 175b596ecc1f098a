//! Two instances of one store: what holds between them.

use std::sync::{Arc, Mutex};

use super::bench::*;
use super::{ContractRule, Requirement};
use crate::{Append, Clock, IdempotencyRecord, Log, LogError, RemoteChange, SessionKey};

const fn rule(name: &'static str, check: fn(&mut dyn Bench)) -> ContractRule {
    ContractRule::needing(Requirement::SecondInstance, name, check)
}

pub const RULES: &[ContractRule] = &[
    rule("each_instance_reads_what_the_other_committed", each_instance_reads_the_other),
    rule("a_takeover_fences_the_other_instance", a_takeover_fences_the_other_instance),
    rule("instances_agree_which_lease_is_running", instances_agree_which_lease_is_running),
    rule("one_of_two_instances_wins_a_sequence", one_of_two_instances_wins_a_sequence),
    rule("the_same_append_at_another_instance_is_a_no_op", the_same_append_elsewhere_is_a_no_op),
    rule("a_scope_is_answered_once_over_all_instances", a_scope_is_answered_once),
    rule("appends_elsewhere_reach_the_remote_listener", appends_elsewhere_are_heard),
    rule("a_new_incarnation_is_heard_behind_its_deletion", a_new_incarnation_is_heard),
    rule("what_the_remote_listener_hears_can_be_read", what_is_heard_can_be_read),
];

/// Two instances, the first of which owns every shard.
fn two(bench: &mut dyn Bench) -> [Arc<dyn Log>; 2] {
    let second = bench.second_instance().unwrap_or_else(|| panic!("the bench has a second instance"));
    [bench.log(), second]
}

/// Everything that an instance hears of others, from here on.
fn heard(log: &dyn Log) -> Arc<Mutex<Vec<RemoteChange>>> {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let all = Arc::clone(&heard);
    log.set_remote_listener(Arc::new(move |changes: &[RemoteChange]| {
        all.lock().unwrap_or_else(std::sync::PoisonError::into_inner).extend_from_slice(changes);
    }));
    heard
}

/// What was heard, once there are so many changes. An engine may take a while.
#[track_caller]
fn wait_for(heard: &Mutex<Vec<RemoteChange>>, enough: impl Fn(&[RemoteChange]) -> bool) -> Vec<RemoteChange> {
    let until = std::time::Instant::now() + std::time::Duration::from_secs(10);
    loop {
        let changes = heard.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        if enough(&changes) {
            return changes;
        }
        assert!(std::time::Instant::now() < until, "heard only {changes:?}");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

fn each_instance_reads_the_other(bench: &mut dyn Bench) {
    let [a, b] = two(bench);
    let epoch = own(&*a);
    let key = made(&*a, "s");
    append(&*a, &key, epoch, &[b"1"]);
    assert_eq!(ok(b.session(&key)), ok(a.session(&key)));
    // The epoch is what counts, not the instance that brings it.
    append(&*b, &key, epoch, &[b"2"]);
    assert_eq!(all_records(&*a, &key), all_records(&*b, &key));
    assert_eq!(head(&*a, &key).last, seq(2));
}

fn a_takeover_fences_the_other_instance(bench: &mut dyn Bench) {
    let [a, b] = two(bench);
    let stale = own(&*a);
    let key = made(&*a, "s");
    let shard = a.shard_of(&key);
    assert!(matches!(refused(b.acquire(shard, &id("own_2"), TTL)), LogError::LeaseHeld { .. }));
    bench.clock().advance(TTL);
    let current = ok(b.acquire(shard, &id("own_2"), TTL)).epoch;
    let chunk = chunk_after(&head(&*a, &key), time(1), &[b"late"]);
    let error = refused(a.append(Append::new(key.clone(), stale, chunk)));
    assert_eq!(error, LogError::Fenced { used: stale, current });
    append(&*b, &key, current, &[b"b"]);
}

fn instances_agree_which_lease_is_running(bench: &mut dyn Bench) {
    let [a, b] = two(bench);
    own(&*a);
    assert_eq!(ok(a.shards()), ok(b.shards()));
    bench.clock().advance(TTL);
    assert_eq!(ok(a.shards()), ok(b.shards()));
    assert!(ok(b.shards()).iter().all(|state| state.lease.is_none()));
}

fn one_of_two_instances_wins_a_sequence(bench: &mut dyn Bench) {
    let [a, b] = two(bench);
    let epoch = own(&*a);
    let key = made(&*a, "s");
    for round in 1..=50 {
        let before = head(&*a, &key);
        let race = |log: &Arc<dyn Log>, name: &[u8]| {
            let request = Append::new(key.clone(), epoch, chunk_after(&before, time(1), &[name]));
            log.append(request).wait().is_ok()
        };
        let won = std::thread::scope(|scope| {
            let other = scope.spawn(|| race(&b, b"b"));
            [race(&a, b"a"), other.join().unwrap_or_else(|_| panic!("the race panicked"))]
        });
        assert!(won[0] != won[1], "round {round}: {won:?}");
        assert_eq!(head(&*b, &key).last, seq(round));
    }
}

fn the_same_append_elsewhere_is_a_no_op(bench: &mut dyn Bench) {
    let [a, b] = two(bench);
    let epoch = own(&*a);
    let key = made(&*a, "s");
    let request = Append::new(key.clone(), epoch, chunk_after(&head(&*a, &key), time(1), &[b"1"]));
    let first = ok(a.append(request.clone()));
    let again = ok(b.append(request));
    assert!(!first.duplicate && again.duplicate);
    assert_eq!((first.first, first.last, first.link), (again.first, again.last, again.link));
    assert_eq!(all_records(&*b, &key).len(), 1);
}

fn a_scope_is_answered_once(bench: &mut dyn Bench) {
    let [a, b] = two(bench);
    let record = |response: &'static [u8]| IdempotencyRecord {
        tenant: id("acme"),
        scope: "POST /v1/sessions key".to_owned(),
        digest: [1; 32],
        response: bytes::Bytes::from_static(response),
        created_at: bench.clock().now(),
        expires_at: bench.clock().now().plus(TTL),
    };
    let first = ok(a.remember(record(b"of a")));
    let second = ok(b.remember(record(b"of b")));
    assert!(first.new && !second.new);
    assert_eq!(second.record, first.record);
}

fn appends_elsewhere_are_heard(bench: &mut dyn Bench) {
    let [a, b] = two(bench);
    let epoch = own(&*a);
    let key = made(&*a, "s");
    let [at_a, at_b] = [heard(&*a), heard(&*b)];
    append_numbered(&*a, &key, epoch, 1..=5);
    let end = head(&*a, &key);
    let is_end = |change: &RemoteChange| *change == RemoteChange::Appended { key: key.clone(), head: end };
    let changes = wait_for(&at_b, |changes| changes.iter().any(is_end));
    let lasts: Vec<_> = changes.iter().filter_map(appended).map(|(_, head)| head.last).collect();
    assert!(lasts.is_sorted(), "heads only grow: {lasts:?}");
    assert_eq!(wait_for(&at_a, |_| true), [], "nobody hears of itself");
}

fn appended(change: &RemoteChange) -> Option<(&SessionKey, &crate::SessionHead)> {
    match change {
        RemoteChange::Appended { key, head } => Some((key, head)),
        RemoteChange::Created { .. } | RemoteChange::Deleted { .. } => None,
    }
}

fn a_new_incarnation_is_heard(bench: &mut dyn Bench) {
    let [a, b] = two(bench);
    let key = made(&*a, "s");
    let first = head(&*a, &key).incarnation;
    let at_b = heard(&*b);
    ok(a.delete_session(&key));
    made(&*a, "s");
    let again = head(&*a, &key);
    assert_ne!(again.incarnation, first);
    let created = RemoteChange::Created { key: key.clone(), head: again };
    let changes = wait_for(&at_b, |changes| changes.contains(&created));
    let deleted = changes
        .iter()
        .position(|change| *change == RemoteChange::Deleted { key: key.clone(), incarnation: first });
    let created = changes.iter().position(|change| *change == created);
    assert!(deleted.is_some() && deleted < created, "{changes:?}");
    assert_eq!(ok(b.head(&key)), Some(again));
}

/// The listener may not call the log, so what it heard is read at once by another thread.
fn what_is_heard_can_be_read(bench: &mut dyn Bench) {
    let [a, b] = two(bench);
    let epoch = own(&*a);
    let key = made(&*a, "s");
    let (sender, receiver) = std::sync::mpsc::channel();
    b.set_remote_listener(Arc::new(move |changes: &[RemoteChange]| {
        for (_, head) in changes.iter().filter_map(appended) {
            let _ = sender.send(head.last);
        }
    }));
    std::thread::scope(|scope| {
        scope.spawn(|| append_numbered(&*a, &key, epoch, 1..=20));
        let wait = std::time::Duration::from_secs(10);
        while let Ok(last) = receiver.recv_timeout(wait) {
            let read = ok(b.read(&key, last.previous(), usize::MAX));
            assert_eq!(read.first().map(crate::Chunk::last), Some(last));
            if last == seq(20) {
                return;
            }
        }
        panic!("the last append was never heard");
    });
}
