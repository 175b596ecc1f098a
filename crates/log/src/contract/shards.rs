//! Shards: each has its own lease, and open work is found by shard.

use std::collections::BTreeSet;

use super::bench::*;
use super::catalogue::{turn, with_facts};
use super::{ContractRule, Requirement};
use crate::{Append, Epoch, Fact, Log, LogError, NewCommand, SessionKey, Shard, WorkProgress, WorkScope};

pub const RULES: &[ContractRule] = &[
    ContractRule::new("every_shard_is_listed_with_its_lease", every_shard_is_listed),
    ContractRule::new("a_listed_lease_is_running_by_the_engines_clock", a_listed_lease_is_running),
    ContractRule::new("a_session_stays_in_its_shard", a_session_stays_in_its_shard),
    ContractRule::new("a_shard_that_is_absent_cannot_be_acquired", an_absent_shard_cannot_be_acquired),
    ContractRule::new("open_work_is_found_by_its_shard", open_work_is_found_by_its_shard),
    ContractRule::new("open_work_is_found_by_its_session", open_work_is_found_by_its_session),
    ContractRule::needing(
        Requirement::SeveralShards,
        "a_lease_is_for_one_shard_alone",
        a_lease_is_for_one_shard,
    ),
    ContractRule::needing(
        Requirement::SeveralShards,
        "a_takeover_leaves_other_shards",
        a_takeover_leaves_other_shards,
    ),
];

/// A session in this shard.
fn made_in(log: &dyn Log, shard: Shard) -> SessionKey {
    let mut names = (0..10_000).map(|n| key(&format!("s{n}")));
    let key = names.find(|key| log.shard_of(key) == shard);
    let key = key.unwrap_or_else(|| panic!("no session of 10,000 falls into {shard:?}"));
    ok(log.create_session(&key, new_session()));
    key
}

fn shards(log: &dyn Log) -> Vec<Shard> {
    Shard::all(log.shard_count()).collect()
}

fn every_shard_is_listed(bench: &mut dyn Bench) {
    let log = bench.log();
    let listed = ok(log.shards());
    assert_eq!(listed.iter().map(|state| state.shard).collect::<Vec<_>>(), shards(&*log));
    assert!(listed.iter().all(|state| state.lease.is_none() && state.epoch == Epoch(0)), "{listed:?}");
    for shard in shards(&*log) {
        let lease = ok(log.acquire(shard, &id("own_1"), TTL));
        let state = ok(log.shards()).swap_remove(usize::from(shard.0));
        assert_eq!((state.epoch, state.lease), (lease.epoch, Some(lease)));
    }
}

fn a_listed_lease_is_running(bench: &mut dyn Bench) {
    let log = bench.log();
    let shard = Shard(0);
    let running = || ok(log.shards()).swap_remove(0).lease.map(|lease| lease.owner.to_string());
    let lease = ok(log.acquire(shard, &id("own_1"), TTL));
    assert_eq!(running().as_deref(), Some("own_1"));
    bench.clock().advance(TTL);
    assert_eq!(running(), None, "an expired lease is not running");
    let lease = ok(log.renew(&lease, TTL));
    assert_eq!(running().as_deref(), Some("own_1"));
    ok(log.release(&lease));
    assert_eq!(running(), None, "a released lease is not running");
    assert_eq!(ok(log.shards())[0].epoch, lease.epoch, "the epoch stays");
}

fn a_session_stays_in_its_shard(bench: &mut dyn Bench) {
    let log = bench.log();
    let names: Vec<_> = (0..100).map(|n| key(&format!("s{n}"))).collect();
    let before: Vec<_> = names.iter().map(|key| log.shard_of(key)).collect();
    assert!(before.iter().all(|shard| shard.0 < log.shard_count()));
    let key = made(&*log, "s7");
    assert_eq!(log.shard_of(&key), before[7], "whether it exists or not");
    ok(log.delete_session(&key));
    assert_eq!(log.shard_of(&key), before[7]);
    let used: BTreeSet<_> = before.into_iter().collect();
    assert_eq!(used.len(), usize::from(log.shard_count().min(4)), "the sessions spread");
}

fn an_absent_shard_cannot_be_acquired(bench: &mut dyn Bench) {
    let log = bench.log();
    let absent = Shard(log.shard_count());
    let error = refused(log.acquire(absent, &id("own_1"), TTL));
    assert!(matches!(error, LogError::NotFound { kind: "shard", .. }), "{error}");
    assert_eq!(ok(log.shards()).len(), usize::from(log.shard_count()));
}

fn open_work_is_found_by_its_shard(bench: &mut dyn Bench) {
    let log = bench.log();
    let epoch = own(&*log);
    let mut expected = Vec::new();
    for shard in shards(&*log) {
        let key = made_in(&*log, shard);
        let name = format!("turn_{}", shard.0);
        with_facts(&*log, &key, epoch, 1, vec![Fact::Turn(turn(&name, 1, WorkProgress::Open))]);
        ok(log.enqueue(command(&key)));
        expected.push((shard, key));
    }
    for (shard, key) in expected {
        let scope = WorkScope::Shard(shard);
        let turns: Vec<_> = ok(log.open_turns(scope.clone())).into_iter().map(|turn| turn.key).collect();
        let commands: Vec<_> =
            ok(log.pending_commands(scope)).into_iter().map(|command| command.request.key).collect();
        assert_eq!((turns, commands), (vec![key.clone()], vec![key]));
    }
}

fn open_work_is_found_by_its_session(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, a, b) = (own(&*log), made(&*log, "a"), made(&*log, "b"));
    for (key, name) in [(&a, "turn_a"), (&b, "turn_b")] {
        with_facts(&*log, key, epoch, 1, vec![Fact::Turn(turn(name, 1, WorkProgress::Open))]);
    }
    let found = ok(log.open_turns(WorkScope::Session(a.clone())));
    assert_eq!(found.into_iter().map(|turn| turn.key).collect::<Vec<_>>(), [a]);
    assert_eq!(ok(log.open_turns(WorkScope::Session(key("nobody")))), []);
    assert_eq!(ok(log.pending_commands(WorkScope::Session(key("nobody")))), []);
}

fn command(key: &SessionKey) -> NewCommand {
    NewCommand {
        id: id("cmd_1"),
        key: key.clone(),
        idempotency_key: "k".to_owned(),
        digest: [1; 32],
        body: bytes::Bytes::new(),
        created_at: time(1),
    }
}

fn a_lease_is_for_one_shard(bench: &mut dyn Bench) {
    let log = bench.log();
    let [mine, other] = [Shard(0), Shard(1)];
    let lease = ok(log.acquire(mine, &id("own_1"), TTL));
    let key = made_in(&*log, other);
    let chunk = chunk_after(&head(&*log, &key), time(1), &[b"a"]);
    let error = refused(log.append(Append::new(key.clone(), lease.epoch, chunk)));
    assert_eq!(error, LogError::Fenced { used: lease.epoch, current: Epoch(0) });
    let others = ok(log.acquire(other, &id("own_2"), TTL));
    append(&*log, &key, others.epoch, &[b"a"]);
}

fn a_takeover_leaves_other_shards(bench: &mut dyn Bench) {
    let log = bench.log();
    let epoch = own(&*log);
    let [taken, left] = [Shard(0), Shard(1)].map(|shard| made_in(&*log, shard));
    bench.clock().advance(TTL);
    let newer = ok(log.acquire(Shard(0), &id("own_2"), TTL)).epoch;
    let chunk = chunk_after(&head(&*log, &taken), time(1), &[b"late"]);
    let error = refused(log.append(Append::new(taken.clone(), epoch, chunk)));
    assert_eq!(error, LogError::Fenced { used: epoch, current: newer });
    append(&*log, &left, epoch, &[b"the other shard goes on"]);
    append(&*log, &taken, newer, &[b"so does this one"]);
}
