//! `cargo xtask check`: the fast loop. It looks at the crates that were changed, and at the vectors that cover them.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::ci::{cargo, has_nextest, run};
use crate::files::root;
use crate::steps::{CiStep, run_all, step};
use crate::tidy;

/// Folders that hold packages of the workspace, one in each folder of theirs or in themselves.
const MEMBERS: &[&str] = &["crates", "bench", "tests", "xtask"];

/// A change below one of these paths can change what a vector folds or encodes to.
const VECTOR_SOURCES: &[&str] =
    &["crates/event/", "crates/fold/", "crates/dialect/", "crates/provider/", "spec/vectors/"];

/// The same for the folds in TypeScript and Python.
const CLIENT_SOURCES: &[&str] = &["crates/event/", "crates/fold/", "clients/", "spec/vectors/"];

/// The packages whose integration tests run the vectors.
const VECTOR_PACKAGES: &[&str] = &["riverrun-fold", "riverrun-dialect", "riverrun-provider"];

/// Checks what differs from a revision: `--since REV`, or else the last commit and what is not committed yet.
pub fn check(words: &[&str]) -> Result<()> {
    let since = match words {
        [] => None,
        ["--since", revision] => Some(*revision),
        _ => bail!("usage: cargo xtask check [--since REVISION]"),
    };
    let files = changed(since)?;
    let packages = packages(&files)?;
    println!("{} changed files in {}", files.len(), listed(&packages));
    run_all(steps(&files, &packages))
}

fn listed(packages: &BTreeSet<String>) -> String {
    match packages.is_empty() {
        true => "no crate".to_owned(),
        false => packages.iter().map(String::as_str).collect::<Vec<_>>().join(", "),
    }
}

fn steps(files: &[String], packages: &BTreeSet<String>) -> Vec<CiStep> {
    let mut steps = vec![
        step("format", || cargo(&["fmt", "--all", "--check"])),
        step("checklist", crate::checklist::check),
        step("tidy", tidy::tidy),
    ];
    if !packages.is_empty() {
        let (lint, unit) = (selected(packages), selected(packages));
        steps
            .push(step("lint", move || with(&["clippy"], &lint, &["--all-targets", "--", "-D", "warnings"])));
        let kinds = [kinds(files), vec![NO_TESTS]].concat();
        steps.push(step("unit tests", move || with(runner(), &unit, &kinds)));
    }
    if touches(files, VECTOR_SOURCES) {
        let vectors = selected(VECTOR_PACKAGES.iter().copied());
        steps.push(step("vectors", move || with(runner(), &vectors, &["--tests"])));
    }
    if touches(files, CLIENT_SOURCES) {
        let install = "[ -d node_modules ] || npm ci; npm test";
        steps.push(step("typescript", move || run("sh", &["-ec", install], "clients/typescript", &[])));
        steps.push(step("python", || run("python3", &["run_tests.py"], "clients/python", &[])));
    }
    steps
}

/// A crate without unit tests is no failure.
const NO_TESTS: &str = "--no-tests=pass";

/// Cargo refuses `--lib` where no selected package has a library.
fn kinds(files: &[String]) -> Vec<&'static str> {
    let sources: Vec<_> =
        files.iter().filter_map(|file| folder(file)).map(|it| root().join(it).join("src")).collect();
    let any = |name: &str| sources.iter().any(|source| source.join(name).exists());
    let library = any("lib.rs").then_some("--lib");
    library.into_iter().chain((any("main.rs") || any("bin")).then_some("--bins")).collect()
}

fn runner() -> &'static [&'static str] {
    if has_nextest() { &["nextest", "run"] } else { &["test"] }
}

fn with(command: &[&str], packages: &[String], options: &[&str]) -> Result<()> {
    let mut words = command.to_vec();
    words.extend(packages.iter().map(String::as_str));
    // Cargo's own runner does not know the flag, and does not mind either.
    words.extend(options.iter().filter(|word| **word != NO_TESTS || command.contains(&"nextest")));
    cargo(&words)
}

fn selected(packages: impl IntoIterator<Item = impl AsRef<str>>) -> Vec<String> {
    packages.into_iter().flat_map(|package| ["--package".to_owned(), package.as_ref().to_owned()]).collect()
}

fn touches(files: &[String], sources: &[&str]) -> bool {
    files.iter().any(|file| sources.iter().any(|source| file.starts_with(source)))
}

/// The files that differ from the revision, and those that git does not know yet.
fn changed(since: Option<&str>) -> Result<Vec<String>> {
    let mut files = git(&["diff", "--name-only", since.unwrap_or("HEAD~1")])?;
    files.extend(git(&["ls-files", "--others", "--exclude-standard"])?);
    Ok(files)
}

fn git(words: &[&str]) -> Result<Vec<String>> {
    let output = Command::new("git").args(words).current_dir(root()).output().context("starting git")?;
    ensure!(output.status.success(), "git {}: {}", words.join(" "), String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}

/// The packages that hold the files. A package that was deleted has none to check.
fn packages(files: &[String]) -> Result<BTreeSet<String>> {
    let folders: BTreeSet<&str> = files.iter().filter_map(|file| folder(file)).collect();
    let manifests = folders.into_iter().map(|folder| root().join(folder).join("Cargo.toml"));
    manifests.filter(|manifest| manifest.exists()).map(|manifest| package_name(&manifest)).collect()
}

/// The folder of the package that holds a file: `crates/fold` of `crates/fold/src/lib.rs`, `xtask` of
/// `xtask/src/ci.rs`.
fn folder(file: &str) -> Option<&str> {
    let first = file.split('/').next().filter(|first| MEMBERS.contains(first))?;
    if root().join(first).join("Cargo.toml").exists() {
        return Some(first);
    }
    let name = file.get(first.len() + 1..)?.split('/').next()?;
    file.get(..first.len() + 1 + name.len())
}

fn package_name(manifest: &Path) -> Result<String> {
    let text =
        std::fs::read_to_string(manifest).with_context(|| format!("reading {}", manifest.display()))?;
    let name = text.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
    name.map(str::to_owned).with_context(|| format!("{} names no package", manifest.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_belongs_to_the_package_of_its_folder() {
        let files = ["crates/fold/src/lib.rs", "xtask/src/ci.rs", "tests/src/lib.rs", "docs/cli.md"];
        let found = packages(&files.map(str::to_owned)).unwrap();
        assert_eq!(Vec::from_iter(found), ["riverrun-fold", "riverrun-tests", "xtask"]);
    }

    #[test]
    fn vectors_run_when_their_sources_change() {
        let names = |file: &str| -> Vec<&str> {
            let files = [file.to_owned()];
            steps(&files, &packages(&files).unwrap()).iter().map(|step| step.name).collect()
        };
        assert!(names("spec/vectors/fold/gap/events.ndjson").ends_with(&["vectors", "typescript", "python"]));
        assert!(names("crates/server/src/lib.rs").ends_with(&["lint", "unit tests"]));
        assert!(names("docs/cli.md").ends_with(&["tidy"]));
    }
}
