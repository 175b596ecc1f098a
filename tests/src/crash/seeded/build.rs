//! Builds what has the bugs in it, beside what has not.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

pub struct Built {
    pub binary: PathBuf,
    tests: Vec<PathBuf>,
}

/// Everything is built as part of the workspace: dependencies then have the features that `cargo xtask ci` has
/// already compiled them with.
const BINARY: &str = "build --profile suite --workspace --bin riverrun";
const TESTS: &str =
    "test --profile suite --workspace --test contract --test damage --test memory --test runner --no-run";
const BUGS: &str = "--features riverrun/seeded-bugs";

impl Built {
    pub fn make(root: &Path) -> Result<Self> {
        let made = executables(root, &format!("{BINARY} {BUGS}"))?;
        let made = made.into_iter().find(|path| path.ends_with("riverrun")).context("no binary was built")?;
        let binary = made.with_file_name("riverrun-seeded");
        std::fs::copy(&made, &binary)?;
        let tests = executables(root, &format!("{TESTS} {BUGS}"))?;
        // The path of the plain binary belongs to the plain binary.
        executables(root, BINARY)?;
        Ok(Self { binary, tests })
    }

    /// The file of tests with this name: `contract`, `damage` and `memory` of the engines, `runner` of the run loop.
    pub fn test(&self, name: &str) -> Result<PathBuf> {
        named(&self.tests, name)
    }
}

fn named(tests: &[PathBuf], name: &str) -> Result<PathBuf> {
    let is_it = |path: &&PathBuf| {
        path.file_name().is_some_and(|file| file.to_string_lossy().starts_with(&format!("{name}-")))
    };
    tests.iter().find(is_it).cloned().with_context(|| format!("no test `{name}` was built"))
}

/// Runs cargo and tells what it made.
fn executables(root: &Path, words: &str) -> Result<Vec<PathBuf>> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args(words.split(' '))
        .args(["--message-format", "json"])
        .current_dir(root)
        .stderr(std::process::Stdio::inherit())
        .output()?;
    ensure!(output.status.success(), "cargo {} failed", words);
    let text = String::from_utf8_lossy(&output.stdout);
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    Ok(lines.filter_map(|line| line["executable"].as_str().map(PathBuf::from)).collect())
}

/// The names of the bugs that some code asks about.
pub fn seeded(root: &Path) -> Result<Vec<String>> {
    let list = std::fs::read_to_string(root.join("crates/log/src/seeded.rs"))?;
    let mut sources = Vec::new();
    collect(&root.join("crates"), &mut sources)?;
    let is_asked = |variant: &str| {
        let question = format!("is_on(Bug::{variant})");
        sources.iter().any(|source| source.contains(&question))
    };
    let entry = |line: &str| {
        let (variant, name) = line.trim().strip_suffix("\";")?.split_once(" = \"")?;
        is_asked(variant).then(|| name.to_owned())
    };
    Ok(list.lines().filter_map(entry).collect())
}

fn collect(folder: &Path, sources: &mut Vec<String>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, sources)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sources.push(std::fs::read_to_string(&path)?);
        }
    }
    Ok(())
}
