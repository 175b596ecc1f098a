//! Rules that a reviewer should not have to remember.

mod dependencies;
mod edges;
mod examples;
mod http_server;
mod links;
mod oldest_compiler;
mod ratchet;
mod text;
mod walks;

use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::files::root;
use crate::{codegen, files};

/// A broken rule: where, and what to do.
pub struct BrokenRule {
    pub location: String,
    pub advice: String,
}

impl BrokenRule {
    pub fn new(location: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { location: location.into(), advice: advice.into() }
    }
}

pub fn tidy() -> Result<()> {
    let files = files::all()?;
    let metadata = metadata()?;
    let mut problems = edges::problems(&metadata);
    problems.extend(dependencies::problems(&metadata)?);
    problems.extend(oldest_compiler::problems(&metadata));
    problems.extend(text::problems(&files));
    problems.extend(links::problems(&files));
    problems.extend(error_pages(&files));
    problems.extend(http_server::problems()?);
    problems.extend(walks::problems(&files));
    problems.extend(examples::problems(&files));
    problems.extend(ratchet::problems(&files)?);
    if let Err(error) = codegen::check() {
        problems.push(BrokenRule::new("generated files", format!("{error:#}")));
    }
    for problem in &problems {
        eprintln!("{}: {}", problem.location, problem.advice);
    }
    if !problems.is_empty() {
        bail!("tidy: {} problems", problems.len());
    }
    println!("tidy: {} files, 0 problems", files.len());
    Ok(())
}

/// Brings the lists of exceptions up to date; they may only get shorter.
pub fn shrink() -> Result<()> {
    ratchet::shrink(&files::all()?)
}

const ERRORS: &str = "docs/errors.md";

/// Every error code has a section, and every section a code.
fn error_pages(files: &[files::File]) -> Vec<BrokenRule> {
    let text = files.iter().find(|file| file.path == ERRORS).map_or("", |file| file.text.as_str());
    let sections: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("## ")).map(str::trim).collect();
    let codes: Vec<&str> = riverrun_event::ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
    let absent = codes.iter().filter(|code| !sections.contains(code));
    let absent = absent
        .map(|code| BrokenRule::new(ERRORS, format!("add a section `## {code}`: what happened, what to do")));
    let stale = sections.iter().filter(|section| !codes.contains(section));
    let stale = stale.map(|section| BrokenRule::new(ERRORS, format!("there is no error code `{section}`")));
    absent.chain(stale).collect()
}

fn metadata() -> Result<Value> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    // Only what is built here: a crate for another system is no edge of ours.
    let host = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--filter-platform", &host])
        .current_dir(root())
        .output()
        .context("cargo tells the graph of the crates")?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}
