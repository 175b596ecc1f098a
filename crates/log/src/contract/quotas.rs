//! Quotas, usage, what is finished, and the ids of restored events.

use bytes::Bytes;

use super::Case;
use super::bench::*;
use crate::{
    Append, ExpiredQuery, Fact, Log, LogError, NewAction, NewBlob, QUOTA_RESERVE, StorageQuota,
    StorageQuotas, TurnFact, Urgency, Usage, WorkProgress,
};

pub const CASES: &[Case] = &[
    ("a_tenant_makes_no_more_sessions_than_its_quota", sessions_are_bounded),
    ("a_tenant_stores_no_more_bytes_than_its_quota", bytes_are_bounded),
    ("what_ends_work_may_use_a_little_more", what_ends_work_may_use_a_little_more),
    ("a_quota_of_one_tenant_is_not_that_of_another", tenants_are_apart),
    ("usage_goes_down_with_what_is_deleted_and_retired", usage_goes_down),
    ("usage_is_the_same_after_a_reopen", usage_survives),
    ("nothing_is_retired_while_work_is_open", open_work_is_never_retired),
    ("only_finished_sessions_expire", only_finished_sessions_expire),
    ("a_noted_time_stays", a_noted_time_stays),
    ("restored_events_keep_the_origin_of_their_ids", restored_events_keep_their_origin),
];

fn limited(sessions: Option<u64>, stored_bytes: Option<u64>) -> StorageQuotas {
    StorageQuotas { default: StorageQuota { sessions, stored_bytes }, ..StorageQuotas::default() }
}

fn usage(log: &dyn Log) -> Usage {
    ok(log.usage(Some(&id("acme"))))[0].1
}

fn blob(bytes: &'static [u8]) -> NewBlob {
    NewBlob { session: None, media_type: "text/plain".to_owned(), bytes: Bytes::from_static(bytes) }
}

fn sessions_are_bounded(bench: &mut dyn Bench) {
    let log = bench.log();
    log.set_quotas(limited(Some(2), None));
    made(&*log, "a");
    made(&*log, "b");
    let over = LogError::Quota { quota: "sessions", limit: 2, used: 2 };
    assert_eq!(refused(log.create_session(&key("c"), new_session())), over);
    assert!(!ok(log.create_session(&key("a"), new_session())).new, "one that is there is answered");
    assert!(ok(log.delete_session(&key("a"))));
    made(&*log, "c");
    assert_eq!(usage(&*log).sessions, 2);
}

fn bytes_are_bounded(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, key) = (own(&*log), made(&*log, "s"));
    let chunk = chunk_after(&head(&*log, &key), time(1), &[&[7; 600]]);
    log.set_quotas(limited(None, Some(1_000)));
    ok(log.append(Append::new(key.clone(), epoch, chunk.clone())));
    assert_eq!(usage(&*log).log_bytes, chunk.bytes().len() as u64);
    assert!(ok(log.append(Append::new(key.clone(), epoch, chunk))).duplicate, "a repeat stores nothing");
    let next = chunk_after(&head(&*log, &key), time(1), &[&[8; 600]]);
    let used = usage(&*log).stored_bytes();
    let over = LogError::Quota { quota: "stored_bytes", limit: 1_000, used };
    assert_eq!(refused(log.append(Append::new(key.clone(), epoch, next))), over);
    assert_eq!(refused(log.put_blob(&id("acme"), blob(&[1; 500]))), over);
    assert_eq!(usage(&*log).stored_bytes(), used, "what was refused does not count");
    ok(log.put_blob(&id("acme"), blob(&[1; 100])));
    ok(log.put_blob(&id("acme"), blob(&[1; 100])));
    assert_eq!(usage(&*log).blob_bytes, 100, "the same bytes are stored once");
    append(&*log, &key, epoch, &[b"small"]);
}

fn what_ends_work_may_use_a_little_more(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, key) = (own(&*log), made(&*log, "s"));
    log.set_quotas(limited(None, Some(10)));
    let reserved = |size: usize| {
        let chunk = chunk_after(&head(&*log, &key), time(1), &[&vec![1; size]]);
        Append { urgency: Urgency::Reserved, ..Append::new(key.clone(), epoch, chunk) }
    };
    ok(log.append(reserved(100)));
    let error = refused(log.append(reserved(QUOTA_RESERVE as usize)));
    assert!(matches!(error, LogError::Quota { quota: "stored_bytes", .. }), "{error}");
}

fn tenants_are_apart(bench: &mut dyn Bench) {
    let log = bench.log();
    let mut quotas = limited(Some(1), None);
    quotas.tenants.insert(id("big"), StorageQuota::default());
    log.set_quotas(quotas);
    made(&*log, "a");
    refused(log.create_session(&key("b"), new_session()));
    for name in ["a", "b", "c"] {
        ok(log.create_session(&crate::SessionKey::new(id("big"), id(name)), new_session()));
    }
    let all: Vec<_> =
        ok(log.usage(None)).into_iter().map(|(tenant, used)| (tenant.to_string(), used.sessions)).collect();
    assert_eq!(all, [("acme".to_owned(), 1), ("big".to_owned(), 3)]);
}

fn usage_goes_down(bench: &mut dyn Bench) {
    let log = bench.log();
    let epoch = own(&*log);
    assert_eq!(usage(&*log), Usage::default());
    let (packed, live) = (made(&*log, "packed"), made(&*log, "live"));
    append_numbered(&*log, &packed, epoch, 1..=50);
    append_numbered(&*log, &live, epoch, 1..=5);
    ok(log.seal(&packed, seq(30)));
    append_numbered(&*log, &packed, epoch, 51..=60);
    ok(log.seal(&packed, seq(55)));
    let session = Some(packed.session.clone());
    ok(log.put_blob(&packed.tenant, NewBlob { session, ..blob(b"of one session") }));
    let before = usage(&*log);
    ok(log.retire(&packed, seq(60), None));
    ok(log.retire(&live, seq(3), None));
    let after = usage(&*log);
    assert!(after.log_bytes < before.log_bytes, "{before:?} {after:?}");
    assert!(ok(log.delete_session(&packed)) && ok(log.delete_session(&live)));
    assert_eq!(usage(&*log), Usage::default());
}

fn usage_survives(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, key) = (own(&*log), made(&*log, "s"));
    append_numbered(&*log, &key, epoch, 1..=40);
    ok(log.seal(&key, seq(25)));
    ok(log.retire(&key, seq(10), None));
    ok(log.put_blob(&id("acme"), blob(b"kept")));
    let before = ok(log.usage(None));
    drop(log);
    if bench.reopen() {
        assert_eq!(ok(bench.log().usage(None)), before);
        assert_eq!(ok(bench.log().verify()).defects, []);
    }
}

fn open_turn(name: &str, first: u64, progress: WorkProgress) -> Fact {
    let (turn, thread, status) = (id(name), id("main"), "running".to_owned());
    Fact::Turn(TurnFact { turn, thread, status, progress, first: seq(first) })
}

fn open_action(name: &str, sequence: u64) -> Fact {
    Fact::ActionOpened(NewAction {
        action: id(name),
        turn: None,
        task: None,
        sequence: seq(sequence),
        body: Bytes::from_static(b"{}"),
        opened_at: time(1),
        expires_at: None,
    })
}

fn with_fact(log: &dyn Log, key: &crate::SessionKey, epoch: crate::Epoch, fact: Fact) {
    let chunk = chunk_after(&head(log, key), time(2_000), &[b"x"]);
    ok(log.append(Append { facts: vec![fact], ..Append::new(key.clone(), epoch, chunk) }));
}

fn open_work_is_never_retired(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, key) = (own(&*log), made(&*log, "s"));
    append_numbered(&*log, &key, epoch, 1..=3);
    with_fact(&*log, &key, epoch, open_turn("turn_1", 4, WorkProgress::Open));
    append_numbered(&*log, &key, epoch, 5..=8);
    ok(log.seal(&key, seq(6)));
    assert_eq!(ok(log.retire(&key, seq(8), None)), seq(1), "a turn is open");
    with_fact(&*log, &key, epoch, open_action("act_1", 9));
    with_fact(&*log, &key, epoch, open_turn("turn_1", 4, WorkProgress::Terminal));
    assert_eq!(ok(log.retire(&key, seq(10), None)), seq(1), "an action is open");
    let resolution = Bytes::from_static(b"{}");
    let resolved = Fact::ActionResolved { action: id("act_1"), resolution, resolved_at: time(3) };
    with_fact(&*log, &key, epoch, resolved);
    assert_eq!(ok(log.retire(&key, seq(11), None)), seq(12));
}

fn only_finished_sessions_expire(bench: &mut dyn Bench) {
    let log = bench.log();
    let epoch = own(&*log);
    let (done, open, asks) = (made(&*log, "done"), made(&*log, "open"), made(&*log, "asks"));
    made(&*log, "empty");
    append_numbered(&*log, &done, epoch, 1..=3);
    with_fact(&*log, &open, epoch, open_turn("turn_1", 1, WorkProgress::Open));
    with_fact(&*log, &asks, epoch, open_action("act_1", 1));
    let names = |before: u64, tenant: Option<&str>| {
        let query = ExpiredQuery { tenant: tenant.map(id), before: time(before), limit: 10 };
        let found = ok(log.expired(query)).into_iter();
        found.map(|one| (one.key.session.to_string(), one.events)).collect::<Vec<_>>()
    };
    assert_eq!(names(2_001, None), [("done".to_owned(), 3)]);
    assert_eq!(names(2_001, Some("acme")), [("done".to_owned(), 3)]);
    assert_eq!(names(2_001, Some("other")), []);
    assert_eq!(names(2_000, None), [], "its last event is not older");
    ok(log.retire(&done, seq(3), None));
    assert_eq!(names(2_001, None), [], "nothing is left of it");
}

fn a_noted_time_stays(bench: &mut dyn Bench) {
    let log = bench.log();
    assert_eq!(ok(log.noted_time()), None);
    ok(log.note_time(time(5)));
    ok(log.note_time(time(7)));
    drop(log);
    if bench.reopen() {
        assert_eq!(ok(bench.log().noted_time()), Some(time(7)));
    }
}

fn restored_events_keep_their_origin(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, key) = (own(&*log), made(&*log, "s"));
    made(&*log, "again");
    append_numbered(&*log, &key, epoch, 1..=30);
    let first = head(&*log, &key).incarnation;
    assert_eq!(ok(log.id_origins(&key)), []);
    let path = bench.scratch();
    if matches!(log.backup(&path).wait(), Err(LogError::Invalid { .. })) {
        return;
    }
    let Some(copy) = bench.open_backup(&path) else { panic!("a backup was written, so it can be opened") };
    let origins = ok(copy.id_origins(&key));
    let restored: Vec<_> = origins.iter().map(|origin| (origin.through.get(), origin.incarnation)).collect();
    assert_eq!(restored, [(30, first)]);
    let epoch = own(&*copy);
    append_numbered(&*copy, &key, epoch, 31..=31);
    assert_eq!(ok(copy.id_origins(&key)), origins, "what comes later has ids of its own");
    assert!(ok(copy.delete_session(&key)));
    made(&*copy, "s");
    assert_eq!(ok(copy.id_origins(&key)), [], "a session made again has nothing of the old one");
}
