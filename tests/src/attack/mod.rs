//! Attacks on the real binary: hostile writers, models, MCP servers and clients, each with the keys it may have.
//!
//! A case is a name, the rule it proves, and a function that fails when the rule is broken. One file per area; each
//! case starts its own server (`crash::runner::world::World`), so that none depends on what another left.

mod access;
mod approvals;
mod bounds;
mod edge;
mod keys;
mod processes;
mod secrets;
mod smoke;
mod storage;
mod streams;
mod terminal;

use std::time::Instant;

use anyhow::{Result, ensure};

use crate::crash::Program;

/// One attack. The name is `area/rule`, in lower case with hyphens.
#[derive(Clone, Copy)]
pub struct Case {
    pub name: &'static str,
    pub run: fn(&Program) -> Result<()>,
}

/// Every case, area by area. A new area adds one line here.
pub fn cases() -> Vec<Case> {
    let areas = [
        smoke::CASES.to_vec(),
        approvals::cases(),
        access::CASES.to_vec(),
        bounds::CASES.to_vec(),
        edge::CASES.to_vec(),
        keys::CASES.to_vec(),
        processes::CASES.to_vec(),
        secrets::CASES.to_vec(),
        storage::CASES.to_vec(),
        streams::CASES.to_vec(),
        terminal::CASES.to_vec(),
    ];
    areas.concat()
}

/// Runs the cases whose name contains one of the words, or all of them, also after a failure.
pub fn run(program: &Program, words: &[String]) -> Result<()> {
    let is_meant = |case: &Case| words.is_empty() || words.iter().any(|word| case.name.contains(word));
    let meant: Vec<Case> = cases().into_iter().filter(is_meant).collect();
    ensure!(!meant.is_empty(), "no case has a name like {words:?}");
    let mut failed = Vec::new();
    for case in &meant {
        let began = Instant::now();
        let result = (case.run)(program);
        let verdict = if result.is_ok() { "passed" } else { "FAILED" };
        println!("  {:56} {verdict} in {:.1} s", case.name, began.elapsed().as_secs_f64());
        if let Err(error) = result {
            eprintln!("{}: {error:#}", case.name);
            failed.push(case.name);
        }
    }
    println!("attack: {} passed, {} failed", meant.len() - failed.len(), failed.len());
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    Ok(())
}
