//! Many threads at once, and the order of notifications.

use std::sync::{Arc, Barrier, Mutex};

use super::Case;
use super::bench::*;
use crate::{Append, Committed, Log, LogError, SessionKey};

pub const CASES: &[Case] = &[
    ("exactly_one_racer_wins_a_place", exactly_one_racer_wins_a_place),
    ("pipelined_appends_of_one_thread_commit_in_order", pipelined_appends_commit_in_order),
    ("many_sessions_append_at_once", many_sessions_append_at_once),
    ("the_listener_hears_every_chunk_once_in_order_before_its_ticket", the_listener_hears_every_chunk_once),
    ("what_the_listener_hears_can_be_read", what_the_listener_hears_can_be_read),
    ("a_failed_append_fails_what_was_built_on_it", a_failed_append_fails_what_was_built_on_it),
];

const RACERS: usize = 8;

fn exactly_one_racer_wins_a_place(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, key) = (own(&*log), made(&*log, "s"));
    for round in 1..=20 {
        let before = head(&*log, &key);
        let barrier = Barrier::new(RACERS);
        let wins: usize = std::thread::scope(|scope| {
            let race = |n: usize| {
                let (log, key, barrier) = (&log, &key, &barrier);
                let chunk = chunk_after(&before, time(n as u64), &[format!("racer {n}").as_bytes()]);
                scope.spawn(move || {
                    barrier.wait();
                    match log.append(Append::new(key.clone(), epoch, chunk)).wait() {
                        Ok(_) => 1,
                        Err(LogError::Conflict { .. }) => 0,
                        Err(error) => panic!("{error}"),
                    }
                })
            };
            let racers: Vec<_> = (0..RACERS).map(race).collect();
            racers.into_iter().map(|racer| racer.join().unwrap_or_else(|_| panic!("a racer panicked"))).sum()
        });
        assert_eq!((wins, head(&*log, &key).last), (1, seq(round)));
    }
}

/// Hands over `count` single appends without waiting in between.
fn pipeline(log: &dyn Log, key: &SessionKey, epoch: crate::Epoch, count: u64) {
    let mut head = head(log, key);
    let mut tickets = Vec::new();
    for n in 1..=count {
        let chunk = chunk_after(&head, time(n), &[format!("record {n}").as_bytes()]);
        head.advance(&chunk);
        tickets.push(log.append(Append::new(key.clone(), epoch, chunk)));
    }
    for (n, ticket) in (1..).zip(tickets) {
        assert_eq!(ok(ticket).last, seq(n));
    }
}

fn pipelined_appends_commit_in_order(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, key) = (own(&*log), made(&*log, "s"));
    pipeline(&*log, &key, epoch, 500);
    assert_eq!(all_records(&*log, &key), numbered(1..=500));
}

fn many_sessions_append_at_once(bench: &mut dyn Bench) {
    let log = bench.log();
    let epoch = own(&*log);
    let keys: Vec<_> = (0..RACERS).map(|n| made(&*log, &format!("s{n}"))).collect();
    std::thread::scope(|scope| {
        for key in &keys {
            let log = &log;
            scope.spawn(move || pipeline(&**log, key, epoch, 200));
        }
    });
    for key in &keys {
        assert_eq!(all_records(&*log, key), numbered(1..=200));
    }
    assert_eq!(ok(log.verify()).defects, []);
}

fn the_listener_hears_every_chunk_once(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, a, b) = (own(&*log), made(&*log, "a"), made(&*log, "b"));
    let heard: Arc<Mutex<Vec<(SessionKey, u64)>>> = Arc::default();
    let sink = Arc::clone(&heard);
    log.set_listener(Arc::new(move |commits: &[Committed]| {
        let mut sink = sink.lock().unwrap_or_else(|_| panic!("the listener panicked before"));
        sink.extend(commits.iter().map(|commit| (commit.key.clone(), commit.chunk.last().get())));
    }));
    let heard_of = |key: &SessionKey| -> Vec<u64> {
        let heard = heard.lock().unwrap_or_else(|_| panic!("the listener panicked"));
        heard.iter().filter(|(of, _)| of == key).map(|(_, last)| *last).collect()
    };
    append(&*log, &a, epoch, &[b"1"]);
    assert_eq!(heard_of(&a), [1], "told before the ticket resolved");
    let chunk = chunk_after(&head(&*log, &a), time(1), &[b"2", b"3"]);
    ok(log.append(Append::new(a.clone(), epoch, chunk.clone())));
    ok(log.append(Append::new(a.clone(), epoch, chunk)));
    pipeline(&*log, &b, epoch, 100);
    assert_eq!(heard_of(&a), [1, 3], "a duplicate is not told again");
    assert_eq!(heard_of(&b), (1..=100).collect::<Vec<_>>());
}

fn what_the_listener_hears_can_be_read(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, key) = (own(&*log), made(&*log, "s"));
    let (sender, receiver) = std::sync::mpsc::channel();
    log.set_listener(Arc::new(move |commits: &[Committed]| {
        commits.iter().for_each(|commit| drop(sender.send(commit.chunk.clone())));
    }));
    std::thread::scope(|scope| {
        scope.spawn(|| pipeline(&*log, &key, epoch, 100));
        for _ in 0..100 {
            let chunk = receiver.recv().unwrap_or_else(|_| panic!("the listener was dropped"));
            let read = ok(log.read(&key, chunk.first().previous(), 1));
            assert_eq!(read, [chunk]);
        }
    });
}

fn a_failed_append_fails_what_was_built_on_it(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, key) = (own(&*log), made(&*log, "s"));
    let before = head(&*log, &key);
    let chunk = chunk_after(&before, time(1), &[b"refused"]);
    let mut after = before;
    after.advance(&chunk);
    let next = chunk_after(&after, time(1), &[b"built on it"]);
    let first = log.append(stamped(Append::new(key.clone(), epoch, chunk), "prod_1", 0, 7));
    let second = log.append(Append::new(key.clone(), epoch, next));
    assert!(matches!(refused(first), LogError::ProducerGap { .. }));
    assert_eq!(refused(second), LogError::Conflict { first: seq(2), head: seq(0) });
}
