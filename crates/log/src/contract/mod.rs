//! The contract of [`Log`](crate::Log), executable. Every engine runs all of it.
//!
//! ```text
//! riverrun_log::contract::run(|clock| Box::new(MyBench::new(clock)));
//! ```
//!
//! Each case is a function named for its rule; a failure names the rule and the engine's answer.
//! The suite panics by design: it is the body of a test.

mod appends;
mod bench;
mod catalogue;
mod commands;
mod leases;
mod quotas;
mod races;
mod reopen;
mod sidecar;
mod standing;
mod upkeep;

use std::sync::Arc;

pub use bench::{Bench, Factory};

use crate::ManualClock;

/// One rule: its name and the function that tries it.
pub type Case = (&'static str, fn(&mut dyn Bench));

/// Every rule of the contract.
pub fn cases() -> Vec<Case> {
    [
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
    ]
    .concat()
}

/// Runs every rule against fresh logs and panics with the names of those that were broken.
pub fn run(factory: &Factory<'_>) {
    let mut broken = Vec::new();
    for (name, case) in cases() {
        let clock = Arc::new(ManualClock::at(crate::Timestamp::from_millis(1_700_000_000_000)));
        let mut bench = factory(clock);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| case(bench.as_mut())));
        if outcome.is_err() {
            broken.push(name);
        }
    }
    assert!(broken.is_empty(), "broken rules: {broken:?}");
}
