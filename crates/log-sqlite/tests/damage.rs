//! Bytes on the disk that are not what was committed: told, never shown, never spread.

mod support;

use std::path::{Path, PathBuf};

use bytes::Bytes;
use riverrun_event::Sequence;
use riverrun_log::{BlobStore, EventStore, LogError, Maintenance, Random, SeededRandom, Snapshot};
use riverrun_log_sqlite::{OpenLogError, STORE, SqliteOptions};
use rusqlite::{Connection, params};
use support::*;

/// A closed log with a live session, a packed one, and one that is both.
fn sample() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let log = open(directory.path());
    let epoch = own(&*log);
    for name in ["live", "packed", "both"] {
        let key = create(&*log, name);
        append(&*log, &key, epoch, 6);
        if name != "live" {
            log.seal(&key, seq(6)).wait().expect("sealed");
        }
    }
    append(&*log, &key("both"), epoch, 4);
    drop(log);
    let store = directory.path().join(STORE);
    (directory, store)
}

const SESSIONS: [(&str, u64); 3] = [("live", 6), ("packed", 6), ("both", 10)];

/// What a reader meets: everything, or a refusal; and whether the check of the whole store found something.
struct Outcome {
    refused: Vec<&'static str>,
    short: Vec<&'static str>,
    is_told: bool,
}

/// `support::read` panics on a record that was never appended.
fn look(directory: &Path) -> Outcome {
    let mut outcome = Outcome { refused: Vec::new(), short: Vec::new(), is_told: true };
    let Ok(log) = try_open(options(directory)) else { return outcome };
    for (name, count) in SESSIONS {
        match read(&log, &key(name)) {
            Ok(found) if found == count => {}
            Ok(_) => outcome.short.push(name),
            Err(_) => outcome.refused.push(name),
        }
    }
    outcome.is_told = log.verify().wait().is_ok_and(|found| !found.defects.is_empty());
    outcome
}

fn flip(bytes: &[u8], bit: usize) -> Vec<u8> {
    let mut flipped = bytes.to_vec();
    flipped[bit / 8] ^= 1 << (bit % 8);
    flipped
}

fn places_of(needle: &[u8], bytes: &[u8]) -> Vec<usize> {
    (0..bytes.len() - needle.len()).filter(|at| bytes[*at..].starts_with(needle)).collect()
}

#[test]
fn a_flipped_bit_in_a_live_chunk_is_reported_and_affects_no_other_session() {
    let (directory, store) = sample();
    let sound = std::fs::read(&store).expect("readable");
    let text = b"record 3 of live";
    let at = *places_of(text, &sound).first().expect("stored as it is");
    // From the chunk's header to the end of its text.
    for byte in at - 20..at + text.len() {
        std::fs::write(&store, flip(&sound, byte * 8 + byte % 8)).expect("writable");
        let outcome = look(directory.path());
        assert_eq!(outcome.refused, ["live"], "byte {byte}");
        assert!(outcome.short.is_empty() && outcome.is_told, "byte {byte}");
    }
}

#[test]
fn no_flipped_bit_anywhere_shows_a_wrong_event() {
    let (directory, store) = sample();
    let sound = std::fs::read(&store).expect("readable");
    let random = SeededRandom::new(41);
    for _ in 0..300 {
        let mut bytes = [0; 8];
        random.fill(&mut bytes);
        let bit = usize::try_from(u64::from_le_bytes(bytes) % (sound.len() as u64 * 8)).expect("in range");
        std::fs::write(&store, flip(&sound, bit)).expect("writable");
        let outcome = look(directory.path());
        let is_whole = outcome.refused.is_empty() && outcome.short.is_empty();
        assert!(
            is_whole || outcome.is_told,
            "bit {bit}: {:?} refused, {:?} short",
            outcome.refused,
            outcome.short
        );
    }
}

fn edit(store: &Path, sql: &str, parameters: impl rusqlite::Params) {
    let changed = Connection::open(store).expect("a database").execute(sql, parameters).expect("valid");
    assert!(changed > 0, "{sql}");
}

#[test]
fn a_missing_group_is_reported_and_the_others_can_be_read() {
    let (directory, store) = sample();
    edit(&store, "DELETE FROM groups WHERE number = (SELECT min(number) FROM groups)", []);
    let log = open(directory.path());
    let Err(LogError::Corrupt { first, .. }) = read(&*log, &key("live")) else {
        panic!("a hole was not told")
    };
    assert_eq!(first, seq(1));
    assert_eq!(read(&*log, &key("packed")), Ok(6));
    let epoch = own(&*log);
    let refused = try_append(&*log, &key("live"), epoch, b"on top of a hole");
    assert!(matches!(refused, Err(LogError::Corrupt { .. })), "{refused:?}");
    append(&*log, &key("packed"), epoch, 1);
    assert!(!log.verify().wait().expect("readable").defects.is_empty());
}

#[test]
fn a_damaged_segment_is_reported_with_its_range() {
    let (directory, store) = sample();
    let sql = "UPDATE segments SET bytes = zeroblob(length(bytes))
               WHERE session = (SELECT number FROM sessions WHERE session = 'both')";
    edit(&store, sql, []);
    let log = open(directory.path());
    let Err(LogError::Corrupt { first, last, .. }) = read(&*log, &key("both")) else {
        panic!("damage was not told")
    };
    assert_eq!((first, last), (seq(1), seq(6)));
    let behind = log.read(&key("both"), seq(6), usize::MAX).wait().expect("the live part is sound");
    assert_eq!(behind.len(), 4);
    let defects = log.verify().wait().expect("readable").defects;
    assert_eq!(defects.len(), 1, "{defects:?}");
    assert_eq!((defects[0].key.clone(), defects[0].range), (Some(key("both")), Some((seq(1), seq(6)))));
}

#[test]
fn a_missing_segment_is_reported() {
    let (directory, store) = sample();
    edit(&store, "DELETE FROM segments", []);
    let log = open(directory.path());
    assert!(matches!(read(&*log, &key("packed")), Err(LogError::Corrupt { .. })));
    assert_eq!(read(&*log, &key("live")), Ok(6));
    assert_eq!(log.verify().wait().expect("readable").defects.len(), 2);
}

#[test]
fn a_rewritten_past_breaks_the_chain() {
    let (directory, store) = sample();
    let other = tempfile::tempdir().expect("a directory");
    let log = open(other.path());
    let epoch = own(&*log);
    let imposter = create(&*log, "live");
    (0..6)
        .for_each(|_| drop(try_append(&*log, &imposter, epoch, b"other words, each chunk sound in itself")));
    log.seal(&imposter, Sequence::MAX).wait().expect("sealed");
    drop(log);
    let copy = Connection::open(other.path().join(STORE)).expect("a database");
    let row = copy.query_row("SELECT bytes, raw_bytes FROM segments", [], |row| {
        Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, i64>(1)?))
    });
    let (bytes, raw_bytes) = row.expect("packed");
    let sql = "UPDATE segments SET bytes = ?1, raw_bytes = ?2
               WHERE session = (SELECT number FROM sessions WHERE session = 'packed')";
    edit(&store, sql, params![bytes, raw_bytes]);
    let log = open(directory.path());
    let defects = log.verify().wait().expect("readable").defects;
    assert_eq!(defects.len(), 1, "{defects:?}");
    assert_eq!(defects[0].key, Some(key("packed")));
    let is_about_links =
        ["a chunk follows", "events end with"].iter().any(|text| defects[0].what.contains(text));
    assert!(is_about_links, "{defects:?}");
}

#[test]
fn a_damaged_snapshot_is_skipped_and_reported() {
    let directory = tempfile::tempdir().expect("a directory");
    let log = open(directory.path());
    let session = create(&*log, "s");
    let snapshot = |n: u64| Snapshot { sequence: seq(n), bytes: Bytes::from(format!("state at {n}")) };
    for n in [10, 20] {
        log.put_snapshot(&session, snapshot(n)).wait().expect("stored");
    }
    drop(log);
    edit(&directory.path().join(STORE), "UPDATE snapshots SET hash = zeroblob(32) WHERE sequence = 20", []);
    let log = open(directory.path());
    let found = log.snapshot(&session, seq(99)).wait().expect("readable");
    assert_eq!((found.snapshot, found.problems.len()), (Some(snapshot(10)), 1));
    assert_eq!(log.verify().wait().expect("readable").defects.len(), 1);
}

#[test]
fn a_torn_write_ahead_file_leaves_a_dense_beginning() {
    let directory = tempfile::tempdir().expect("a directory");
    // Large enough that no checkpoint runs while the two files are copied.
    let log = open_with(SqliteOptions { wal_bytes: 4 << 20, ..options(directory.path()) });
    let epoch = own(&*log);
    let session = create(&*log, "s");
    (0..12).for_each(|_| append(&*log, &session, epoch, 1));
    let file = |name: &str| std::fs::read(directory.path().join(name)).expect("readable");
    let (store, wal) = (file(STORE), file(&format!("{STORE}-wal")));
    drop(log);
    let used = wal.iter().rposition(|byte| *byte != 0).expect("not empty") + 1;
    let mut lengths = Vec::new();
    for cut in (0..used).step_by(1_021).chain([used]) {
        let copy = tempfile::tempdir().expect("a directory");
        std::fs::write(copy.path().join(STORE), &store).expect("writable");
        std::fs::write(copy.path().join(format!("{STORE}-wal")), &wal[..cut]).expect("writable");
        let Ok(log) = try_open(options(copy.path())) else { continue };
        let Ok(Some(_)) = log.head(&session).wait() else { continue };
        lengths.push(read(&log, &session).expect("a cut is no damage"));
        assert_eq!(log.verify().wait().expect("readable").defects, []);
    }
    assert!(lengths.is_sorted() && lengths.last() == Some(&12), "{lengths:?}");
}

/// Each of these bugs lets damage pass; a suite that does not notice proves nothing.
#[cfg(feature = "seeded-bugs")]
#[test]
fn the_damage_suite_notices_seeded_bugs() {
    use riverrun_log::seeded::Bug;
    for (bug, test) in [
        (Bug::SkipCrc, "a_flipped_bit_in_a_live_chunk_is_reported_and_affects_no_other_session"),
        (Bug::SkipChain, "a_rewritten_past_breaks_the_chain"),
        (Bug::TrustSnapshot, "a_damaged_snapshot_is_skipped_and_reported"),
    ] {
        let suite = std::env::current_exe().expect("running");
        let mut run = std::process::Command::new(suite);
        let outcome =
            run.args(["--exact", test]).env("RIVERRUN_SEEDED_BUG", bug.name()).output().expect("runs");
        assert!(!outcome.status.success(), "`{}` went unnoticed", bug.name());
    }
}

/// A store as a killed process leaves it, with a few commits that are only in the write-ahead file.
fn killed() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let log = open(directory.path());
    let epoch = own(&*log);
    let session = create(&*log, "s");
    (0..4).for_each(|_| append(&*log, &session, epoch, 1));
    let copy = tempfile::tempdir().expect("a directory");
    for name in [STORE.to_owned(), format!("{STORE}-wal")] {
        std::fs::copy(directory.path().join(&name), copy.path().join(&name)).expect("readable");
    }
    let wal = copy.path().join(format!("{STORE}-wal"));
    (copy, wal)
}

#[test]
fn a_synced_commit_that_does_not_fit_any_more_is_not_dropped() {
    let (directory, wal) = killed();
    let sound = std::fs::read(&wal).expect("readable");
    let at = *places_of(b"record 2 of s", &sound).first().expect("stored as it is");
    let damaged = flip(&sound, at * 8);
    std::fs::write(&wal, &damaged).expect("writable");
    let refused = try_open(options(directory.path())).err().expect("later commits would be lost");
    assert!(matches!(refused, OpenLogError::Damaged { .. }), "{refused}");
    assert_eq!(std::fs::read(&wal).expect("readable"), damaged, "what is left was changed");
    std::fs::write(&wal, &sound).expect("writable");
    assert_eq!(read(&*open(directory.path()), &key("s")), Ok(4));
}

#[test]
fn an_incomplete_last_commit_is_dropped_and_reported_once() {
    let (directory, wal) = killed();
    let sound = std::fs::read(&wal).expect("readable");
    let at = *places_of(b"record 4 of s", &sound).last().expect("stored as it is");
    std::fs::write(&wal, flip(&sound, at * 8)).expect("writable");
    let log = open(directory.path());
    assert!(log.recovered().is_some());
    assert_eq!(read(&*log, &key("s")), Ok(3));
    let epoch = own(&*log);
    append(&*log, &key("s"), epoch, 1);
    drop(log);
    let log = open(directory.path());
    assert_eq!((log.recovered(), read(&*log, &key("s"))), (None, Ok(4)));
}

#[test]
fn what_a_kill_leaves_is_whole() {
    let (directory, _) = killed();
    assert_eq!(open(directory.path()).recovered(), None);
}
