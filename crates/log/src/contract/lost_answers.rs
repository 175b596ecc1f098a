//! Appends whose answer was lost: the connection to the store broke while they were being committed.

use super::bench::*;
use super::{ContractRule, Requirement};
use crate::memory::LostAnswer;
use crate::{Append, LogError};

const fn rule(name: &'static str, check: fn(&mut dyn Bench)) -> ContractRule {
    ContractRule::needing(Requirement::LostAnswers, name, check)
}

pub const RULES: &[ContractRule] = &[
    rule("an_append_without_an_answer_is_decided_by_the_same_append", the_same_append_decides),
    rule("an_append_without_an_answer_conflicts_with_others", another_append_may_come_first),
    rule("an_append_without_an_answer_does_not_poison_the_log", the_log_goes_on),
];

fn the_same_append_decides(bench: &mut dyn Bench) {
    for (name, lost) in [("stored", LostAnswer::Stored), ("not", LostAnswer::NotStored)] {
        let log = bench.log();
        let (epoch, key) = (own(&*log), made(&*log, name));
        append(&*log, &key, epoch, &[b"record 1"]);
        let chunk = chunk_after(&head(&*log, &key), time(1), &[b"record 2"]);
        let request = stamped(Append::new(key.clone(), epoch, chunk), "prod_1", 0, 0);
        bench.lose_next_answer(lost);
        let error = refused(log.append(request.clone()));
        assert!(matches!(error, LogError::OutcomeUnknown(_)), "{error}");
        assert!(error.is_retryable() && !error.has_no_side_effects());
        let again = ok(log.append(request.clone()));
        assert_eq!((again.first, again.last), (seq(2), seq(2)));
        assert_eq!(again.duplicate, lost == LostAnswer::Stored);
        assert!(ok(log.append(request)).duplicate, "once decided it stays decided");
        assert_eq!(all_records(&*log, &key), numbered(1..=2));
    }
}

fn another_append_may_come_first(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, key) = (own(&*log), made(&*log, "s"));
    let before = head(&*log, &key);
    let request = |record: &[u8]| Append::new(key.clone(), epoch, chunk_after(&before, time(1), &[record]));
    bench.lose_next_answer(LostAnswer::NotStored);
    refused(log.append(request(b"mine")));
    ok(log.append(request(b"other")));
    let error = refused(log.append(request(b"mine")));
    assert_eq!(
        error,
        LogError::Conflict { first: seq(1), head: seq(1) },
        "then it is known not to be stored"
    );
    bench.lose_next_answer(LostAnswer::Stored);
    let before = head(&*log, &key);
    let mine = Append::new(key.clone(), epoch, chunk_after(&before, time(1), &[b"mine"]));
    refused(log.append(mine));
    let other = Append::new(key.clone(), epoch, chunk_after(&before, time(1), &[b"other"]));
    assert_eq!(refused(log.append(other)), LogError::Conflict { first: seq(2), head: seq(2) });
    assert_eq!(all_records(&*log, &key)[1].1, b"mine".as_slice());
}

fn the_log_goes_on(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, a, b) = (own(&*log), made(&*log, "a"), made(&*log, "b"));
    bench.lose_next_answer(LostAnswer::NotStored);
    let chunk = chunk_after(&head(&*log, &a), time(1), &[b"record 1"]);
    refused(log.append(Append::new(a.clone(), epoch, chunk)));
    for key in [&a, &b] {
        append_numbered(&*log, key, epoch, 1..=3);
        assert_eq!(all_records(&*log, key), numbered(1..=3));
    }
    assert_eq!(log.health(), crate::LogHealth::Ready);
}
