//! The contract of [`Log`](crate::Log), executable. Every engine runs all of it.
//!
//! ```text
//! let report = riverrun_log::contract::run(|clock| Box::new(MyBench::new(clock)));
//! assert_eq!(report.skipped, []);
//! ```
//!
//! Each rule is a function named for it; a failure names the rule and the engine's answer. A rule that needs what an
//! engine cannot have, such as a second instance of an embedded store, is skipped, and the report says which and why.
//! The suite panics by design: it is the body of a test.

mod appends;
mod bench;
mod catalogue;
mod commands;
mod instances;
mod leases;
mod lost_answers;
mod quotas;
mod races;
mod reopen;
mod rule;
mod shards;
mod sidecar;
mod standing;
mod upkeep;

use std::sync::Arc;

pub use bench::{Bench, Factory};
pub use rule::{ContractReport, ContractRule, Requirement, Skipped};

use crate::ManualClock;

/// A rule that every engine can be held to: its name and the function that tries it.
type Case = (&'static str, fn(&mut dyn Bench));

/// Every rule of the contract.
pub fn rules() -> Vec<ContractRule> {
    let for_all = [
        leases::CASES,
        appends::CASES,
        races::CASES,
        catalogue::CASES,
        standing::CASES,
        commands::CASES,
        sidecar::CASES,
        upkeep::CASES,
        quotas::CASES,
        reopen::CASES,
    ];
    let for_all = for_all.concat().into_iter().map(|(name, check)| ContractRule::new(name, check));
    for_all.chain([shards::RULES, instances::RULES, lost_answers::RULES].concat()).collect()
}

/// Runs every rule against fresh logs. Panics with the names of those that were broken.
pub fn run(factory: &Factory<'_>) -> ContractReport {
    let (mut report, mut broken) = (ContractReport::default(), Vec::new());
    for rule in rules() {
        let clock = Arc::new(ManualClock::at(crate::UnixMillis::from_millis(1_700_000_000_000)));
        let mut bench = factory(clock);
        if let Some(why) = bench.lacks(rule.needs) {
            report.skipped.push(Skipped { rule: rule.name, why });
            continue;
        }
        report.ran += 1;
        let check = std::panic::AssertUnwindSafe(|| (rule.check)(bench.as_mut()));
        if std::panic::catch_unwind(check).is_err() {
            broken.push(rule.name);
        }
    }
    assert!(broken.is_empty(), "broken rules: {broken:?}");
    report
}
