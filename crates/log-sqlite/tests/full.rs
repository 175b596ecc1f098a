//! No space: refused by name, nothing lost, healed by itself.

mod support;

use std::time::{Duration, Instant};

use riverrun_log::{Append, Catalogue, EventStore, LogError, LogHealth, Maintenance, Urgency};
use riverrun_log_sqlite::SqliteOptions;
use support::*;

#[test]
fn a_full_store_refuses_appends_keeps_reads_and_heals_when_space_is_freed() {
    let directory = tempfile::tempdir().expect("a directory");
    let full = SqliteOptions { max_bytes: Some(2 << 20), ..options(directory.path()) };
    let log = open_with(full.clone());
    let epoch = own(&*log);
    let (large, small) = (create(&*log, "large"), create(&*log, "small"));
    append(&*log, &small, epoch, 3);
    let filler = vec![7; 100_000];
    let refused = loop {
        if let Err(error) = try_append(&*log, &large, epoch, &filler) {
            break error;
        }
    };
    assert_eq!((refused, log.health()), (LogError::Full, LogHealth::Full));
    assert_eq!(read(&*log, &small), Ok(3), "reads go on");
    assert_eq!(try_append(&*log, &small, epoch, &filler), Err(LogError::Full));
    assert_eq!(log.delete_session(&large).wait(), Ok(true), "deletes work");
    let start = Instant::now();
    while try_append(&*log, &small, epoch, &record(&small, 4)).is_err() {
        assert!(start.elapsed() < Duration::from_secs(20), "it does not heal");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!((log.health(), read(&*log, &small)), (LogHealth::Ready, Ok(4)));
    assert_eq!(log.verify().wait().expect("readable").defects, []);
    drop(log);
    assert_eq!(read(&*open_with(full), &small), Ok(4));
}

#[test]
fn a_reserved_append_passes_where_a_normal_one_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let log = open_with(SqliteOptions { max_bytes: Some(1 << 20), ..options(directory.path()) });
    let epoch = own(&*log);
    let session = create(&*log, "s");
    while try_append(&*log, &session, epoch, &[7; 50_000]).is_ok() {}
    let cancel = chunk(&head(&*log, &session), b"turn.cancelled");
    assert_eq!(log.append(Append::new(session.clone(), epoch, cancel.clone())).wait(), Err(LogError::Full));
    let urgent = Append { urgency: Urgency::Reserved, ..Append::new(session, epoch, cancel) };
    assert!(log.append(urgent).wait().is_ok());
}
