//! The data directory: whose it is, who may read it, what is refused untouched.

mod support;

use std::os::unix::fs::PermissionsExt;

use riverrun_log::{EventStore, Maintenance};
use riverrun_log_sqlite::{OpenLogError, STORE};
use support::*;

fn mode(path: &std::path::Path) -> u32 {
    std::fs::metadata(path).expect("there").permissions().mode() & 0o777
}

#[test]
fn a_second_opening_is_refused_until_the_first_is_closed() {
    let directory = tempfile::tempdir().expect("a directory");
    let first = open(directory.path());
    let second = try_open(options(directory.path()));
    assert!(matches!(&second, Err(error @ OpenLogError::Locked(_)) if error.exit_code() == 75));
    drop(first);
    assert!(try_open(options(directory.path())).is_ok());
}

#[test]
fn only_its_owner_reads_the_data() {
    let parent = tempfile::tempdir().expect("a directory");
    let directory = parent.path().join("deep/data");
    let log = open(&directory);
    let epoch = own(&*log);
    let key = create(&*log, "s");
    append(&*log, &key, epoch, 3);
    let copy = parent.path().join("copy");
    log.backup(&copy).wait().expect("copied");
    assert_eq!(mode(&directory), 0o700);
    assert_eq!(mode(&copy), 0o600);
    for entry in std::fs::read_dir(&directory).expect("readable") {
        let path = entry.expect("readable").path();
        assert_eq!(mode(&path), 0o600, "{path:?}");
    }
}

#[test]
fn a_newer_format_is_refused_and_left_untouched() {
    let directory = tempfile::tempdir().expect("a directory");
    let log = open(directory.path());
    create(&*log, "s");
    drop(log);
    let store = directory.path().join(STORE);
    let newer = rusqlite::Connection::open(&store).expect("a database");
    newer.pragma_update(None, "user_version", 99).expect("writable");
    drop(newer);
    let before = std::fs::read(&store).expect("readable");
    let refused = try_open(options(directory.path()));
    let Err(error @ OpenLogError::NewerFormat { found: 99, supported: 2, .. }) = refused else {
        panic!("a newer format was opened")
    };
    assert_eq!(error.exit_code(), 65);
    assert_eq!(std::fs::read(&store).expect("readable"), before);
}

#[test]
fn a_foreign_file_is_refused_and_left_untouched() {
    for contents in [b"not a database at all".to_vec(), vec![0; 4096]] {
        let directory = tempfile::tempdir().expect("a directory");
        let store = directory.path().join(STORE);
        std::fs::write(&store, &contents).expect("writable");
        assert!(matches!(try_open(options(directory.path())), Err(OpenLogError::Foreign(_))));
        assert_eq!(std::fs::read(&store).expect("readable"), contents);
    }
    let directory = tempfile::tempdir().expect("a directory");
    let other = rusqlite::Connection::open(directory.path().join(STORE)).expect("a database");
    other.execute_batch("CREATE TABLE theirs (x)").expect("writable");
    drop(other);
    assert!(matches!(try_open(options(directory.path())), Err(OpenLogError::Foreign(_))));
}

#[test]
fn an_empty_store_file_is_begun_anew() {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join(STORE), b"").expect("writable");
    let log = open(directory.path());
    let epoch = own(&*log);
    let key = create(&*log, "s");
    append(&*log, &key, epoch, 1);
}

/// What a store of format 1 lacks.
const FORMAT_1: &str = "
DROP TABLE origins; DROP INDEX blobs_by_size; ALTER TABLE heads DROP COLUMN packed_bytes; PRAGMA user_version = 1;";

#[test]
fn a_store_of_format_1_is_brought_up_to_format_2() {
    let directory = tempfile::tempdir().expect("a directory");
    let log = open(directory.path());
    let epoch = own(&*log);
    let (packed, live) = (create(&*log, "packed"), create(&*log, "live"));
    append(&*log, &packed, epoch, 30);
    append(&*log, &live, epoch, 5);
    log.seal(&packed, seq(20)).wait().expect("packed");
    let before = (log.usage(None).wait().expect("counted"), head(&*log, &packed));
    drop(log);
    let store = rusqlite::Connection::open(directory.path().join(STORE)).expect("a database");
    store.execute_batch(FORMAT_1).expect("writable");
    drop(store);
    let log = open(directory.path());
    assert_eq!((log.usage(None).wait().expect("counted"), head(&*log, &packed)), before);
    assert_eq!(log.verify().wait().expect("readable").defects, []);
    assert_eq!((read(&*log, &packed), read(&*log, &live)), (Ok(30), Ok(5)));
}
