//! Attacks on the real binary: hostile writers, models, MCP servers and clients, each with the keys it may have.
//!
//! A case is a name, the rule it proves, and a function that fails when the rule is broken. One file per area; each
//! case starts its own server (`crash::runner::world::World`), so that none depends on what another left.

mod processes;
mod secrets;
mod access;
mod edge;
mod keys;
mod bounds;
mod approvals;
mod smoke;
mod terminal;
mod streams;
mod storage;

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
    [smoke::CASES, secrets::CASES, processes::CASES, access::CASES, edge::CASES, terminal::CASES, keys::CASES, streams::CASES, bounds::CASES, storage::CASES].concat()
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
