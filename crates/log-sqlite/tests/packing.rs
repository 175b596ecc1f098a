//! Packing and reading while appends go on.

mod support;

use std::sync::atomic::{AtomicBool, Ordering};

use riverrun_event::Sequence;
use riverrun_log::{Catalogue, EventStore, Maintenance};
use riverrun_log_sqlite::SqliteOptions;
use support::*;

/// A log that packs all the time.
fn busy(directory: &std::path::Path) -> SqliteOptions {
    SqliteOptions { live_bytes: 16 << 10, ..options(directory) }
}

#[test]
fn appends_reads_and_packing_do_not_disturb_each_other() {
    let directory = tempfile::tempdir().expect("a directory");
    let log = open_with(busy(directory.path()));
    let epoch = own(&*log);
    let keys: Vec<_> = (0..6).map(|n| create(&*log, &format!("s{n}"))).collect();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = |n: usize| {
            let (log, key, done) = (&log, &keys[n], &done);
            scope.spawn(move || {
                let mut seen = 0;
                while !done.load(Ordering::Relaxed) {
                    let now = read(&**log, key).expect("never damaged");
                    assert!(now >= seen, "{now} after {seen}");
                    seen = now;
                }
            })
        };
        let readers: Vec<_> = (0..2).map(reader).collect();
        let writers: Vec<_> = keys
            .iter()
            .map(|key| {
                let log = &log;
                scope.spawn(move || (0..20).for_each(|_| append(&**log, key, epoch, 40)))
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().expect("no panic"));
        done.store(true, Ordering::Relaxed);
        readers.into_iter().for_each(|reader| reader.join().expect("no panic"));
    });
    for key in &keys {
        assert_eq!(read(&*log, key), Ok(800));
    }
    let found = log.verify().wait().expect("readable");
    assert_eq!((found.events, found.defects), (4_800, vec![]));
    drop(log);
    let log = open_with(busy(directory.path()));
    for key in &keys {
        assert_eq!(read(&*log, key), Ok(800));
    }
}

#[test]
fn packed_events_take_a_fraction_of_their_room() {
    let directory = tempfile::tempdir().expect("a directory");
    let log = open(directory.path());
    let epoch = own(&*log);
    let key = create(&*log, "s");
    append(&*log, &key, epoch, 2_000);
    let sealed = log.seal(&key, Sequence::MAX).wait().expect("sealed");
    assert_eq!((sealed.chunks, sealed.events), (2_000, 2_000));
    assert!(sealed.bytes_after * 3 < sealed.bytes_before, "{sealed:?}");
    assert_eq!(read(&*log, &key), Ok(2_000));
    assert_eq!(log.seal(&key, Sequence::MAX).wait().expect("sealed").chunks, 0, "nothing is left to seal");
}

#[test]
fn deletion_retention_and_packing_may_meet() {
    let directory = tempfile::tempdir().expect("a directory");
    let log = open_with(busy(directory.path()));
    let epoch = own(&*log);
    let keep = create(&*log, "keep");
    for round in 0..8 {
        let gone = create(&*log, "gone");
        append(&*log, &gone, epoch, 100);
        append(&*log, &keep, epoch, 100);
        let deleted = log.delete_session(&gone);
        let sealed = log.seal(&keep, seq(round * 100 + 50));
        assert_eq!(deleted.wait(), Ok(true));
        assert!(sealed.wait().is_ok());
    }
    assert_eq!(log.retire(&keep, seq(350), None).wait(), Ok(seq(351)));
    assert_eq!(head(&*log, &keep).last, seq(800));
    assert_eq!(log.verify().wait().expect("readable").defects, []);
    drop(log);
    let log = open_with(busy(directory.path()));
    assert_eq!(head(&*log, &keep).first_available, seq(351));
    assert_eq!(log.head(&key("gone")).wait(), Ok(None));
    assert_eq!(log.verify().wait().expect("readable").defects, []);
}
