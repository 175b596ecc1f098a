//! The data directory: whose it is, who may read it, what is refused untouched.

mod support;

use std::os::unix::fs::PermissionsExt;

use riverrun_log::Log;
use riverrun_log_sqlite::{OpenError, STORE};
use support::*;

fn mode(path: &std::path::Path) -> u32 {
    std::fs::metadata(path).expect("there").permissions().mode() & 0o777
}

#[test]
fn a_second_opening_is_refused_until_the_first_is_closed() {
    let directory = tempfile::tempdir().expect("a directory");
    let first = open(directory.path());
    let second = try_open(options(directory.path()));
    assert!(matches!(&second, Err(error @ OpenError::Locked(_)) if error.exit_code() == 75));
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
    let Err(error @ OpenError::NewerFormat { found: 99, supported: 1, .. }) = refused else {
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
        assert!(matches!(try_open(options(directory.path())), Err(OpenError::Foreign(_))));
        assert_eq!(std::fs::read(&store).expect("readable"), contents);
    }
    let directory = tempfile::tempdir().expect("a directory");
    let other = rusqlite::Connection::open(directory.path().join(STORE)).expect("a database");
    other.execute_batch("CREATE TABLE theirs (x)").expect("writable");
    drop(other);
    assert!(matches!(try_open(options(directory.path())), Err(OpenError::Foreign(_))));
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
