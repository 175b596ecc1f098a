//! Who may append.

use riverrun_event::OwnerId;

use super::Case;
use super::bench::*;
use crate::{Append, Epoch, LogError, Shard};

pub const CASES: &[Case] = &[
    ("acquire_raises_the_epoch", acquire_raises_the_epoch),
    ("a_running_lease_keeps_others_out", a_running_lease_keeps_others_out),
    ("an_expired_or_released_lease_can_be_taken", an_expired_or_released_lease_can_be_taken),
    ("a_stale_owner_is_fenced_from_its_first_append", a_stale_owner_is_fenced_from_its_first_append),
    ("renewing_a_stale_lease_is_fenced", renewing_a_stale_lease_is_fenced),
    ("an_expired_lease_still_appends_until_taken", an_expired_lease_still_appends_until_taken),
    ("nobody_appends_without_a_lease", nobody_appends_without_a_lease),
];

fn acquire_raises_the_epoch(bench: &mut dyn Bench) {
    let log = bench.log();
    let first = own(&*log);
    let second = own(&*log);
    assert!(first > Epoch(0) && second > first, "{first} then {second}");
}

fn a_running_lease_keeps_others_out(bench: &mut dyn Bench) {
    let log = bench.log();
    let lease = ok(log.acquire(Shard(0), &id::<OwnerId>("own_1"), TTL));
    let error = refused(log.acquire(Shard(0), &id::<OwnerId>("own_2"), TTL));
    assert_eq!(error, LogError::LeaseHeld { owner: lease.owner, expires: lease.expires });
}

fn an_expired_or_released_lease_can_be_taken(bench: &mut dyn Bench) {
    let log = bench.log();
    let first = ok(log.acquire(Shard(0), &id::<OwnerId>("own_1"), TTL));
    bench.clock().advance(TTL);
    let second = ok(log.acquire(Shard(0), &id::<OwnerId>("own_2"), TTL));
    assert!(second.epoch > first.epoch);
    ok(log.release(&first));
    let held = refused(log.acquire(Shard(0), &id::<OwnerId>("own_3"), TTL));
    assert!(matches!(held, LogError::LeaseHeld { .. }), "a stale release frees nothing: {held}");
    ok(log.release(&second));
    let third = ok(log.acquire(Shard(0), &id::<OwnerId>("own_3"), TTL));
    assert!(third.epoch > second.epoch);
}

fn a_stale_owner_is_fenced_from_its_first_append(bench: &mut dyn Bench) {
    let log = bench.log();
    let stale = own(&*log);
    let key = made(&*log, "s");
    append(&*log, &key, stale, &[b"a"]);
    bench.clock().advance(TTL);
    let current = ok(log.acquire(log.shard_of(&key), &id::<OwnerId>("own_2"), TTL)).epoch;
    let chunk = chunk_after(&head(&*log, &key), time(1), &[b"late"]);
    let error = refused(log.append(Append::new(key.clone(), stale, chunk.clone())));
    assert_eq!(error, LogError::Fenced { used: stale, current });
    assert_eq!(head(&*log, &key).last, seq(1));
    let invented = Epoch(current.0 + 1);
    let error = refused(log.append(Append::new(key.clone(), invented, chunk)));
    assert_eq!(error, LogError::Fenced { used: invented, current });
    append(&*log, &key, current, &[b"b"]);
}

fn renewing_a_stale_lease_is_fenced(bench: &mut dyn Bench) {
    let log = bench.log();
    let first = ok(log.acquire(Shard(0), &id::<OwnerId>("own_1"), TTL));
    let renewed = ok(log.renew(&first, TTL * 2));
    assert!(renewed.epoch == first.epoch && renewed.expires > first.expires);
    let second = ok(log.acquire(Shard(0), &id::<OwnerId>("own_1"), TTL));
    let error = refused(log.renew(&renewed, TTL));
    assert_eq!(error, LogError::Fenced { used: first.epoch, current: second.epoch });
}

fn an_expired_lease_still_appends_until_taken(bench: &mut dyn Bench) {
    let log = bench.log();
    let key = made(&*log, "s");
    let lease = ok(log.acquire(log.shard_of(&key), &id::<OwnerId>("own_1"), TTL));
    bench.clock().advance(TTL * 100);
    append(&*log, &key, lease.epoch, &[b"the fence is the epoch, not the time"]);
    assert_eq!(ok(log.renew(&lease, TTL)).epoch, lease.epoch);
}

fn nobody_appends_without_a_lease(bench: &mut dyn Bench) {
    let log = bench.log();
    let key = made(&*log, "s");
    let current = own(&*log);
    let chunk = chunk_after(&head(&*log, &key), time(1), &[b"a"]);
    let error = refused(log.append(Append::new(key, Epoch(0), chunk)));
    assert_eq!(error, LogError::Fenced { used: Epoch(0), current });
}
