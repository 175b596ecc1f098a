//! `spec/CHECKLIST.md`: what must hold, and the tests that show it. Made of `spec/checklist.txt`.
//!
//! A test counts as passed only if the output of a run that was handed in says so.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anyhow::{Context, Result, bail, ensure};

use crate::files::root;

const SOURCE: &str = "spec/checklist.txt";
const TABLE: &str = "spec/CHECKLIST.md";

struct Line {
    number: String,
    section: String,
    what: String,
    /// File and function.
    tests: Vec<(String, String)>,
}

/// Writes the table; `results` are files with what `cargo test` or nextest printed.
pub fn write(results: &[&str]) -> Result<()> {
    let lines = read()?;
    let passed = passed(results)?;
    std::fs::write(root().join(TABLE), table(&lines, &passed))?;
    let open = lines.iter().filter(|line| line.tests.is_empty()).count();
    println!("{TABLE}: {} lines, {open} of them open", lines.len());
    Ok(())
}

/// Fails if a named test is not there, or the table lists other lines.
pub fn check() -> Result<()> {
    let lines = read()?;
    let text = std::fs::read_to_string(root().join(TABLE)).with_context(|| TABLE.to_owned())?;
    for line in &lines {
        let row = row_head(line);
        ensure!(text.contains(&row), "{TABLE} has no row `{row}`: run `cargo xtask checklist`");
    }
    Ok(())
}

fn read() -> Result<Vec<Line>> {
    let text = std::fs::read_to_string(root().join(SOURCE)).with_context(|| SOURCE.to_owned())?;
    let (mut short, mut lines) = (BTreeMap::new(), Vec::new());
    for (place, text) in
        text.lines().enumerate().filter(|(_, text)| !text.is_empty() && !text.starts_with('#'))
    {
        let at = || format!("{SOURCE}:{}: `{text}`", place + 1);
        if let Some((name, folder)) = text.split_once(' ').filter(|_| text.starts_with('@')) {
            short.insert(name, folder);
            continue;
        }
        let mut parts = text.splitn(3, '|').map(str::trim);
        let (Some(head), Some(what), Some(tests)) = (parts.next(), parts.next(), parts.next()) else {
            bail!("{} has not three parts", at());
        };
        let (number, section) = head.split_once(' ').with_context(at)?;
        let tests = tests.split(',').map(str::trim).filter(|test| !test.is_empty());
        let tests = tests.map(|test| named(test, &short).with_context(at)).collect::<Result<Vec<_>>>()?;
        lines.push(Line { number: number.into(), section: section.into(), what: what.into(), tests });
    }
    Ok(lines)
}

fn named(test: &str, short: &BTreeMap<&str, &str>) -> Result<(String, String)> {
    let (file, function) = test.split_once("::").context("a test is FILE::FUNCTION")?;
    let file = match file.split_once('/').and_then(|(name, rest)| Some((short.get(name)?, rest))) {
        Some((folder, rest)) => format!("{folder}/{rest}"),
        None => file.to_owned(),
    };
    let text = std::fs::read_to_string(root().join(&file)).with_context(|| file.clone())?;
    ensure!(text.contains(&format!("fn {function}(")), "there is no `{function}` in {file}");
    Ok((file, function.to_owned()))
}

/// The functions of tests that passed, by the last part of their names.
fn passed(results: &[&str]) -> Result<BTreeSet<String>> {
    let mut passed = BTreeSet::new();
    for file in results {
        let text = std::fs::read_to_string(file).with_context(|| (*file).to_owned())?;
        for line in text.lines().map(str::trim) {
            let cargo = line.strip_prefix("test ").and_then(|line| line.strip_suffix(" ... ok"));
            let nextest = line.strip_prefix("PASS ").and_then(|line| line.split_whitespace().last());
            if let Some(name) = cargo.or(nextest).and_then(|name| name.rsplit("::").next()) {
                passed.insert(name.to_owned());
            }
        }
    }
    Ok(passed)
}

fn row_head(line: &Line) -> String {
    format!("| {} | {} | {} |", line.number, line.section, line.what)
}

fn table(lines: &[Line], passed: &BTreeSet<String>) -> String {
    let mut text = String::from(
        "# What must hold\n\n\
         Made by `cargo xtask checklist RESULTS…` of `checklist.txt`; the results are what test runs printed.\n\
         Names under `tests/src/crash` are parts of the suite `crash runner`, which prints what it counted.\n\n\
         | Line | Section | What must hold | Test | Last run |\n|---|---|---|---|---|\n",
    );
    for line in lines {
        let names: Vec<String> =
            line.tests.iter().map(|(file, function)| format!("`{file}` `{function}`")).collect();
        let verdict = match line.tests.as_slice() {
            [] if line.what.ends_with("not provided") => "not provided",
            [] => "open: no test",
            tests if tests.iter().all(|(_, function)| passed.contains(function)) => "pass",
            _ => "not run",
        };
        // Writing to a string does not fail.
        let _ = writeln!(text, "{} {} | {verdict} |", row_head(line), names.join("<br>"));
    }
    text
}
