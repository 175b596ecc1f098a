//! Blobs, snapshots, sealed turns, keys.

use bytes::Bytes;

use super::Case;
use super::bench::*;
use crate::{
    ApiKey, Append, BlobContent, BlobId, BlobInfo, Credential, Fact, LogError, NewBlob, SealedTurnRecord,
    SessionKey, ShareRecord, Snapshot, SnapshotFound,
};

pub const CASES: &[Case] = &[
    ("a_blob_is_named_by_its_contents", a_blob_is_named_by_its_contents),
    ("a_blob_is_its_tenants_own", a_blob_is_its_tenants_own),
    ("a_blob_lives_as_long_as_a_session_that_uses_it", a_blob_lives_as_long_as_a_session_that_uses_it),
    ("the_latest_snapshot_at_or_before_is_found", the_latest_snapshot_at_or_before_is_found),
    ("a_sealed_turn_is_immutable", a_sealed_turn_is_immutable),
    ("a_later_run_of_a_sealed_turn_stays", a_later_run_of_a_sealed_turn_stays),
    ("the_newest_sealed_turns_come_in_order", the_newest_sealed_turns_come_in_order),
    ("keys_are_kept_and_revoked_once", keys_are_stored_and_revoked_once),
    ("credentials_are_read_by_version", credentials_are_read_by_version),
    ("a_deletion_is_remembered_for_its_tenant", a_deletion_is_remembered_for_its_tenant),
    ("shares_are_found_by_id_and_go_with_their_session", shares_are_found_by_id_and_go_with_their_session),
];

fn blob(session: Option<&str>, bytes: &'static str) -> NewBlob {
    NewBlob {
        session: session.map(id),
        media_type: "text/plain".to_owned(),
        bytes: Bytes::from_static(bytes.as_bytes()),
    }
}

fn a_blob_is_named_by_its_contents(bench: &mut dyn Bench) {
    let log = bench.log();
    let info = ok(log.put_blob(&id("acme"), blob(None, "hello")));
    let name = "blob_2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    let reference = BlobId::parse(name).unwrap_or_else(|| panic!("`{name}` is a reference"));
    assert_eq!(info, BlobInfo { reference: reference.clone(), media_type: "text/plain".to_owned(), size: 5 });
    let again = NewBlob { media_type: "text/html".to_owned(), ..blob(None, "hello") };
    assert_eq!(ok(log.put_blob(&id("acme"), again)), info, "the first put stays");
    let stored = ok(log.blob(&id("acme"), &reference));
    assert_eq!(stored, Some(BlobContent { info: info.clone(), bytes: Bytes::from_static(b"hello") }));
    assert_eq!(ok(log.blob_info(&id("acme"), &reference)), Some(info));
    let large = Bytes::from(vec![7; 3 << 20]);
    let info = ok(log.put_blob(&id("acme"), NewBlob { bytes: large.clone(), ..blob(None, "") }));
    assert_eq!(ok(log.blob(&id("acme"), &info.reference)).map(|blob| blob.bytes), Some(large));
}

fn a_blob_is_its_tenants_own(bench: &mut dyn Bench) {
    let log = bench.log();
    let reference = ok(log.put_blob(&id("acme"), blob(None, "secret"))).reference;
    assert_eq!(ok(log.blob(&id("other"), &reference)), None);
    assert_eq!(ok(log.blob_info(&id("other"), &reference)), None);
    let error = refused(log.put_blob(&id("acme"), blob(Some("absent"), "x")));
    assert_eq!(error, LogError::NoSession(id("absent")));
}

fn a_blob_lives_as_long_as_a_session_that_uses_it(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, a, b) = (own(&*log), made(&*log, "a"), made(&*log, "b"));
    let tenant = id("acme");
    let shared = ok(log.put_blob(&tenant, blob(Some("a"), "shared"))).reference;
    let lone = ok(log.put_blob(&tenant, blob(Some("a"), "lone"))).reference;
    let pinned = ok(log.put_blob(&tenant, blob(None, "kept"))).reference;
    let chunk = chunk_after(&head(&*log, &b), time(1), &[b"x"]);
    let facts = vec![Fact::Blob(shared.clone()), Fact::Blob(pinned.clone())];
    ok(log.append(Append { facts, ..Append::new(b.clone(), epoch, chunk) }));
    let present = |reference: &BlobId| ok(log.blob_info(&tenant, reference)).is_some();
    assert!(ok(log.delete_session(&a)));
    assert_eq!([&shared, &lone, &pinned].map(present), [true, false, true]);
    assert!(ok(log.delete_session(&b)));
    assert_eq!([&shared, &lone, &pinned].map(present), [false, false, true]);
}

fn the_latest_snapshot_at_or_before_is_found(bench: &mut dyn Bench) {
    let log = bench.log();
    let key = made(&*log, "s");
    let snapshot = |n: u64| Snapshot { sequence: seq(n), bytes: Bytes::from(format!("state at {n}")) };
    assert_eq!(ok(log.snapshot(&key, seq(9))), SnapshotFound::default());
    for n in [10, 20, 30] {
        ok(log.put_snapshot(&key, snapshot(n)));
    }
    let at = |n: u64| ok(log.snapshot(&key, seq(n))).snapshot;
    assert_eq!([at(9), at(10), at(29)], [None, Some(snapshot(10)), Some(snapshot(20))]);
    assert_eq!(at((1 << 53) - 1), Some(snapshot(30)));
    let absent = super::bench::key("absent");
    assert_eq!(refused(log.put_snapshot(&absent, snapshot(1))), LogError::NoSession(absent.session));
}

fn a_sealed_turn_is_immutable(bench: &mut dyn Bench) {
    let log = bench.log();
    let key = made(&*log, "s");
    let bytes = Bytes::from("a finished turn ".repeat(100));
    let turn =
        SealedTurnRecord { turn: id("turn_1"), task: id("task_1"), first: seq(1), last: seq(9), bytes };
    ok(log.put_sealed_turn(&key, turn.clone()));
    ok(log.put_sealed_turn(&key, turn.clone()));
    let other = SealedTurnRecord { bytes: Bytes::from_static(b"other"), ..turn.clone() };
    let error = refused(log.put_sealed_turn(&key, other));
    assert_eq!(error, LogError::Immutable { kind: "sealed turn", id: "turn_1".to_owned() });
    assert_eq!(ok(log.sealed_turn(&key, &id("turn_1"))), Some(turn.clone()));
    assert_eq!(ok(log.sealed_turn_of_task(&key, &id("task_1"))), Some(turn));
    assert_eq!(ok(log.sealed_turn(&key, &id("turn_2"))), None);
}

fn a_later_run_of_a_sealed_turn_stays(bench: &mut dyn Bench) {
    let log = bench.log();
    let key = made(&*log, "s");
    let run = |first: u64, text: &'static str| SealedTurnRecord {
        turn: id("turn_1"),
        task: id("task_1"),
        first: seq(first),
        last: seq(first + 8),
        bytes: Bytes::from_static(text.as_bytes()),
    };
    for turn in [run(1, "failed"), run(20, "done"), run(1, "failed")] {
        ok(log.put_sealed_turn(&key, turn));
    }
    assert_eq!(ok(log.sealed_turn(&key, &id("turn_1"))), Some(run(20, "done")));
    assert_eq!(ok(log.sealed_turn_of_task(&key, &id("task_1"))), Some(run(20, "done")));
}

fn the_newest_sealed_turns_come_in_order(bench: &mut dyn Bench) {
    let log = bench.log();
    let (key, other) = (made(&*log, "s"), made(&*log, "other"));
    // Their names sort against their places.
    let turn = |at: u64| SealedTurnRecord {
        turn: id(&format!("turn_{}", 9 - at)),
        task: id(&format!("task_{at}")),
        first: seq(at * 10),
        last: seq(at * 10 + 9),
        bytes: Bytes::from(vec![b'x'; 100]),
    };
    for at in [2, 1, 3, 4] {
        ok(log.put_sealed_turn(&key, turn(at)));
    }
    ok(log.put_sealed_turn(&other, turn(5)));
    let read = |through: u64, most, bytes| ok(log.sealed_turns(&key, seq(through), most, bytes));
    assert_eq!(read(99, 9, 4096), [turn(1), turn(2), turn(3), turn(4)]);
    assert_eq!(read(99, 2, 4096), [turn(3), turn(4)], "the newest of them");
    assert_eq!(read(48, 9, 250), [turn(2), turn(3)], "what ended until then and fits");
    assert_eq!(read(99, 9, 1), [turn(4)], "one at least");
    assert_eq!(read(18, 9, 4096), []);
    let absent = super::bench::key("absent");
    assert_eq!(refused(log.sealed_turns(&absent, seq(9), 9, 9)), LogError::NoSession(absent.session));
}

fn keys_are_stored_and_revoked_once(bench: &mut dyn Bench) {
    let log = bench.log();
    let key = |name: &str, tenant: &str| ApiKey {
        id: id(name),
        hash: [1; 32],
        tenant: id(tenant),
        scopes: vec!["read".to_owned(), "approve".to_owned()],
        label: "laptop".to_owned(),
        created_at: time(1),
        expires_at: Some(time(99)),
        revoked_at: None,
        last_used_at: None,
    };
    ok(log.put_key(key("key_2", "acme")));
    ok(log.put_key(key("key_1", "acme")));
    ok(log.put_key(key("key_3", "other")));
    assert_eq!(ok(log.keys(Some(&id("acme")))), [key("key_1", "acme"), key("key_2", "acme")]);
    assert_eq!(ok(log.keys(None)).len(), 3);
    assert!(ok(log.revoke_key(&id("key_1"), time(50))));
    assert!(ok(log.revoke_key(&id("key_1"), time(60))));
    assert!(!ok(log.revoke_key(&id("key_9"), time(60))));
    ok(log.touch_key(&id("key_1"), time(70)));
    let revoked = ApiKey { revoked_at: Some(time(50)), last_used_at: Some(time(70)), ..key("key_1", "acme") };
    assert_eq!(ok(log.key(&id("key_1"))), Some(revoked));
    assert_eq!(ok(log.key(&id("key_9"))), None);
}

fn a_deletion_is_remembered_for_its_tenant(bench: &mut dyn Bench) {
    let log = bench.log();
    let (there, gone) = (made(&*log, "there"), made(&*log, "gone"));
    assert_eq!(ok(log.deleted_at(&gone)), None);
    ok(log.note_deletion(&gone, time(10)));
    assert!(ok(log.delete_session(&gone)));
    let at = Some(time(10));
    assert_eq!(ok(log.deleted_at(&gone)), at);
    let foreign = SessionKey::new(id("other"), gone.session.clone());
    let absent = SessionKey::new(gone.tenant.clone(), id("absent"));
    for key in [&there, &foreign, &absent] {
        assert_eq!(ok(log.deleted_at(key)), None, "{key:?}");
    }
    drop(log);
    if bench.reopen() {
        assert_eq!(ok(bench.log().deleted_at(&gone)), at, "a restart forgets nothing");
    }
    let log = bench.log();
    assert_eq!(ok(log.drop_deletions(time(10))), 0);
    assert_eq!(ok(log.drop_deletions(time(11))), 1);
    assert_eq!(ok(log.deleted_at(&gone)), None);
    ok(log.note_deletion(&there, time(12)));
    assert!(ok(log.delete_session(&there)));
    assert_eq!(made(&*log, "there"), there);
    assert_eq!(ok(log.deleted_at(&there)), None, "one that was made again is not deleted");
}

fn credentials_are_read_by_version(bench: &mut dyn Bench) {
    let log = bench.log();
    let credential = |name: &str, expires: u64| Credential {
        id: id(name),
        key: id("key_1"),
        tenant: id("acme"),
        hash: [2; 32],
        grant: "{\"kind\":\"browser\"}".to_owned(),
        created_at: time(1),
        expires_at: time(expires),
        revoked_at: None,
    };
    let names = |rows: &[(u64, Credential)]| {
        rows.iter().map(|(_, row)| row.id.as_str().to_owned()).collect::<Vec<_>>()
    };
    ok(log.put_credential(credential("cred_2", 10)));
    ok(log.put_credential(credential("cred_1", 20)));
    let all = ok(log.credentials(0));
    assert_eq!(names(&all), ["cred_2", "cred_1"]);
    let seen = all.last().map_or(0, |(version, _)| *version);
    assert_eq!(ok(log.credentials(seen)), []);
    let revoked = Credential { revoked_at: Some(time(5)), ..credential("cred_2", 30) };
    ok(log.put_credential(revoked.clone()));
    let newer = ok(log.credentials(seen));
    assert_eq!(newer.iter().map(|(_, row)| row.clone()).collect::<Vec<_>>(), [revoked]);
    assert!(newer.iter().all(|(version, _)| *version > seen));
    let newest = newer.last().map_or(0, |(version, _)| *version);
    assert_eq!(ok(log.drop_credentials(time(20))), 0);
    assert_eq!(ok(log.drop_credentials(time(31))), 2);
    assert_eq!(ok(log.credentials(0)), []);
    ok(log.put_credential(credential("cred_3", 40)));
    assert!(
        ok(log.credentials(0)).iter().all(|(version, _)| *version > newest),
        "a version is not used again"
    );
    drop(log);
    if bench.reopen() {
        assert_eq!(names(&ok(bench.log().credentials(0))), ["cred_3"]);
    }
}

fn shares_are_found_by_id_and_go_with_their_session(bench: &mut dyn Bench) {
    let log = bench.log();
    let (a, b) = (made(&*log, "a"), made(&*log, "b"));
    let share = |name: &str, key: &crate::SessionKey, created: u64| ShareRecord {
        id: id(name),
        key: key.clone(),
        title: "A talk".to_owned(),
        through: seq(7),
        created_at: time(created),
        expires_at: time(90),
        revoked_at: None,
    };
    // The first two are of one millisecond: what decides is the order in which they came.
    let (first, second, other) = (share("shr_2", &a, 2), share("shr_1", &a, 2), share("shr_3", &b, 3));
    for one in [&first, &second, &other] {
        ok(log.put_share(one.clone()));
    }
    assert_eq!(ok(log.share(&id("shr_2"))), Some(first.clone()));
    assert_eq!(ok(log.share(&id("shr_9"))), None);
    assert_eq!(ok(log.shares(&a)), [first.clone(), second.clone()]);
    let revoked = ShareRecord { through: seq(9), revoked_at: Some(time(5)), ..second };
    ok(log.put_share(revoked.clone()));
    assert_eq!(ok(log.shares(&a)), [first.clone(), revoked.clone()]);
    ok(log.put_share(first.clone()));
    assert_eq!(ok(log.shares(&a)), [first.clone(), revoked.clone()]);
    assert!(first.is_live(time(89)) && !first.is_live(time(90)) && !revoked.is_live(time(1)));
    let absent = super::bench::key("absent");
    assert_eq!(
        refused(log.put_share(share("shr_4", &absent, 1))),
        LogError::NoSession(absent.session.clone())
    );
    assert!(ok(log.delete_session(&b)));
    assert_eq!(ok(log.share(&id("shr_3"))), None);
    drop(log);
    if bench.reopen() {
        assert_eq!(ok(bench.log().shares(&a)), [first, revoked]);
    }
}
