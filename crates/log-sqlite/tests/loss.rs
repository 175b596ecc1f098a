//! What was synced and is gone: refused, or accepted as another history; and backups, which are not a loss.

mod support;

use std::path::{Path, PathBuf};

use riverrun_log::{EventStore, Maintenance};
use riverrun_log_sqlite::{OpenLogError, STORE, SqliteOptions};
use support::*;

/// A directory as a killed process leaves it, with four events in session `s`. The write-ahead file is large enough
/// to hold them all: no checkpoint moves them into the store while the files are copied.
fn killed() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let log = open_with(SqliteOptions { wal_bytes: 4 << 20, ..options(directory.path()) });
    let epoch = own(&*log);
    let session = create(&*log, "s");
    (0..4).for_each(|_| append(&*log, &session, epoch, 1));
    let copy = tempfile::tempdir().expect("a directory");
    for name in [STORE.to_owned(), format!("{STORE}-wal"), "witness".to_owned()] {
        std::fs::copy(directory.path().join(&name), copy.path().join(&name)).expect("readable");
    }
    copy
}

fn wal(directory: &Path) -> PathBuf {
    directory.join(format!("{STORE}-wal"))
}

fn beside(directory: &Path, part: &str) -> usize {
    let entries = std::fs::read_dir(directory).expect("readable");
    entries
        .filter(|entry| entry.as_ref().is_ok_and(|entry| entry.file_name().to_string_lossy().contains(part)))
        .count()
}

#[test]
fn an_accepted_loss_is_another_history_and_keeps_what_was_found() {
    let directory = killed();
    let before = {
        let copy = killed();
        head(&*open(copy.path()), &key("s")).incarnation
    };
    let file = std::fs::OpenOptions::new().write(true).open(wal(directory.path())).expect("there");
    file.set_len(20_000).expect("cut");
    let refused = try_open(options(directory.path())).err().expect("commits are missing");
    assert!(
        matches!(&refused, OpenLogError::Damaged { path, .. } if *path == wal(directory.path())),
        "{refused}"
    );
    assert_eq!(refused.exit_code(), 9);
    let log = open_with(SqliteOptions { accept_loss: true, ..options(directory.path()) });
    assert!(log.lost().is_some_and(|what| what.contains("20000 bytes")), "{:?}", log.lost());
    let left = log.head(&key("s")).wait().expect("readable");
    assert!(left.is_none_or(|head| head.incarnation != before && head.last < seq(4)), "{left:?} {before}");
    assert_eq!(beside(directory.path(), "damaged-1"), 1);
    let epoch = own(&*log);
    let other = create(&*log, "other");
    append(&*log, &other, epoch, 2);
    drop(log);
    let log = open(directory.path());
    assert_eq!((log.lost(), log.recovered(), read(&*log, &other)), (None, None, Ok(2)));
    assert_eq!(log.verify().wait().expect("readable").defects, []);
}

#[test]
fn a_lost_store_can_be_begun_anew() {
    let directory = killed();
    std::fs::remove_file(directory.path().join(STORE)).expect("there");
    assert!(matches!(try_open(options(directory.path())), Err(OpenLogError::Damaged { .. })));
    let log = open_with(SqliteOptions { accept_loss: true, ..options(directory.path()) });
    assert_eq!(log.head(&key("s")).wait(), Ok(None));
    drop(log);
    assert_eq!(open(directory.path()).lost(), None);
}

#[test]
fn nothing_is_accepted_where_nothing_is_lost() {
    let directory = killed();
    let log = open_with(SqliteOptions { accept_loss: true, ..options(directory.path()) });
    assert_eq!((log.lost(), read(&*log, &key("s"))), (None, Ok(4)));
}

#[test]
fn a_backup_replaces_a_store_whatever_lies_beside_it() {
    for is_closed in [false, true] {
        let source = tempfile::tempdir().expect("a directory");
        let log = open(source.path());
        let epoch = own(&*log);
        append(&*log, &create(&*log, "s"), epoch, 2);
        let copy = source.path().join("copy");
        log.backup(&copy).wait().expect("copied");
        let directory = killed();
        if is_closed {
            drop(open(directory.path()));
        }
        std::fs::copy(&copy, directory.path().join(STORE)).expect("writable");
        let log = open(directory.path());
        assert_eq!((log.lost(), read(&*log, &key("s"))), (None, Ok(2)));
        assert_eq!(beside(directory.path(), "replaced-1"), usize::from(!is_closed));
        let epoch = own(&*log);
        append(&*log, &key("s"), epoch, 1);
        drop(log);
        let log = open(directory.path());
        assert_eq!((log.lost(), read(&*log, &key("s"))), (None, Ok(3)));
        assert_eq!(beside(directory.path(), "replaced-2"), 0);
    }
}

#[test]
fn a_closed_store_can_be_copied_alone() {
    let source = killed();
    drop(open(source.path()));
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::copy(source.path().join(STORE), directory.path().join(STORE)).expect("writable");
    assert_eq!(read(&*open(directory.path()), &key("s")), Ok(4));
}

/// A commit larger than the write-ahead file, and readers that keep it from beginning anew: its length is in the
/// witness before the commit is acknowledged.
#[test]
fn a_write_ahead_file_that_grew_is_held_to_its_new_length() {
    let directory = tempfile::tempdir().expect("a directory");
    let log = open(directory.path());
    let epoch = own(&*log);
    let session = create(&*log, "s");
    let made = std::fs::metadata(wal(directory.path())).expect("there").len();
    let large = vec![7; 3 << 20];
    try_append(&*log, &session, epoch, &large).expect("stored");
    let grown = std::fs::metadata(wal(directory.path())).expect("there").len();
    assert!(grown > made + large.len() as u64 / 2, "{made} {grown}");
    let copy = tempfile::tempdir().expect("a directory");
    for name in [STORE.to_owned(), format!("{STORE}-wal"), "witness".to_owned()] {
        std::fs::copy(directory.path().join(&name), copy.path().join(&name)).expect("readable");
    }
    drop(log);
    let file = std::fs::OpenOptions::new().write(true).open(wal(copy.path())).expect("there");
    for length in [grown - 1, grown - 4096, made, 0] {
        file.set_len(length).expect("cut");
        assert!(matches!(try_open(options(copy.path())), Err(OpenLogError::Damaged { .. })), "{length}");
    }
}
