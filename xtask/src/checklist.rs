//! `spec/CHECKLIST.md`: what must hold, and the tests that show it. Made of `spec/checklist.txt`.
//!
//! A test counts as passed only if the output of a run that was handed in says so.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anyhow::{Context, Result, bail, ensure};

use crate::files::{all, root};

const SOURCE: &str = "spec/checklist.txt";
const TABLE: &str = "spec/CHECKLIST.md";

/// The lines of the checklist that every version of the table must have.
const LINES: usize = 250;

struct Line {
    number: String,
    section: String,
    what: String,
    proof: Proof,
}

enum Proof {
    Tests(Vec<Test>),
    /// Why nothing shows the line.
    NotProvided(String),
}

struct Test {
    /// What the table shows.
    shown: String,
    /// How a run names it when it passes: a test function, or a file of `tests/clients`.
    passes_as: String,
}

/// Writes the table; `results` are files with the output of test runs (`cargo test`, nextest, `cargo xtask ci`).
pub fn write(results: &[&str]) -> Result<()> {
    let lines = read()?;
    let passed = passed(results)?;
    std::fs::write(root().join(TABLE), table(&lines, &passed))?;
    let missing = lines.iter().filter(|line| matches!(line.proof, Proof::NotProvided(_))).count();
    println!("{TABLE}: {} lines, {missing} of them not provided", lines.len());
    Ok(())
}

/// Fails if a line, its row in the table, or a test that it names is missing, or if two tests have such a name.
pub fn check() -> Result<()> {
    let lines = read()?;
    ensure_unique(&lines)?;
    for number in 1..=LINES {
        let number = number.to_string();
        ensure!(lines.iter().any(|line| line.number == number), "{SOURCE} has no line {number}");
    }
    let text = std::fs::read_to_string(root().join(TABLE)).with_context(|| TABLE.to_owned())?;
    for line in &lines {
        let row = row_head(line);
        ensure!(text.contains(&row), "{TABLE} has no row `{row}`: run `cargo xtask checklist`");
    }
    Ok(())
}

/// The output of a run names functions, so a name that two functions have shows nothing.
fn ensure_unique(lines: &[Line]) -> Result<()> {
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    let sources = all()?;
    let functions = sources.iter().filter(|file| file.has_extension(&["rs"])).flat_map(|file| {
        file.text.split("fn ").skip(1).filter_map(|behind| behind.split_once('(')).map(|(name, _)| name)
    });
    functions.for_each(|name| *count.entry(name).or_default() += 1);
    for line in lines {
        let Proof::Tests(tests) = &line.proof else { continue };
        for test in tests {
            let times = count.get(test.passes_as.as_str()).copied().unwrap_or_default();
            ensure!(times <= 1, "line {}: {times} functions are named `{}`", line.number, test.passes_as);
        }
    }
    Ok(())
}

fn read() -> Result<Vec<Line>> {
    let text = std::fs::read_to_string(root().join(SOURCE)).with_context(|| SOURCE.to_owned())?;
    let (mut folders, mut lines) = (BTreeMap::new(), Vec::new());
    for (index, text) in
        text.lines().enumerate().filter(|(_, text)| !text.is_empty() && !text.starts_with('#'))
    {
        let at = || format!("{SOURCE}:{}: `{text}`", index + 1);
        if let Some((name, folder)) = text.split_once(' ').filter(|_| text.starts_with('@')) {
            folders.insert(name, folder);
            continue;
        }
        let mut parts = text.splitn(3, '|').map(str::trim);
        let (Some(head), Some(what), Some(proof)) = (parts.next(), parts.next(), parts.next()) else {
            bail!("{} does not have three parts", at());
        };
        let (number, section) = head.split_once(' ').with_context(at)?;
        let proof = read_proof(proof, &folders).with_context(at)?;
        lines.push(Line { number: number.into(), section: section.into(), what: what.into(), proof });
    }
    Ok(lines)
}

fn read_proof(text: &str, folders: &BTreeMap<&str, &str>) -> Result<Proof> {
    if let Some(reason) = text.strip_prefix("not provided:") {
        ensure!(!reason.trim().is_empty(), "a line that is not provided needs a reason");
        return Ok(Proof::NotProvided(reason.trim().to_owned()));
    }
    let tests: Vec<Test> = text
        .split(',')
        .map(str::trim)
        .filter(|test| !test.is_empty())
        .map(|test| find(test, folders))
        .collect::<Result<_>>()?;
    ensure!(!tests.is_empty(), "a line needs a test, or `not provided: REASON`");
    Ok(Proof::Tests(tests))
}

/// A test as the file names it: `FILE::FUNCTION`, `v:AREA/VECTOR`, or a file of `tests/clients`.
fn find(name: &str, folders: &BTreeMap<&str, &str>) -> Result<Test> {
    if let Some(vector) = name.strip_prefix("v:") {
        return find_vector(vector);
    }
    let Some((file, function)) = name.split_once("::") else {
        ensure!(name.starts_with("tests/clients/"), "`{name}` is neither FILE::FUNCTION nor a client's file");
        ensure!(root().join(name).exists(), "there is no {name}");
        return Ok(Test { shown: format!("`{name}`"), passes_as: name.to_owned() });
    };
    let file = match file.split_once('/').and_then(|(name, remaining)| Some((folders.get(name)?, remaining)))
    {
        Some((folder, remaining)) => format!("{folder}/{remaining}"),
        None => file.to_owned(),
    };
    let text = std::fs::read_to_string(root().join(&file)).with_context(|| file.clone())?;
    let is_there = ["fn", "def"].iter().any(|word| text.contains(&format!("{word} {function}(")));
    ensure!(is_there, "there is no `{function}` in {file}");
    let passes_as = match file.strip_prefix("tests/src/crash/") {
        Some(suite) => crash_suite(suite.split(['/', '.']).next().unwrap_or_default()),
        None if file.starts_with("tests/clients/") => file.clone(),
        None => function.to_owned(),
    };
    Ok(Test { shown: format!("`{file}` `{function}`"), passes_as })
}

/// How a suite of `crash` is recorded as passed; its own lines begin with the name in upper camel case.
fn crash_suite(name: &str) -> String {
    format!("crash {}", name.to_lowercase())
}

/// The test that runs the vectors of each area.
const VECTOR_TESTS: [(&str, &str, &str); 9] = [
    ("fold", "spec/vectors/fold", "every_vector_folds_to_its_expected_state"),
    ("decode", "spec/vectors/decode", "every_vector_decodes_as_expected"),
    ("reference", "spec/vectors/reference", "every_vector_comes_out_as_written"),
    ("provider", "spec/vectors/provider", "every_stream_is_read_as_in_its_vector"),
    ("task", "spec/vectors/dialect/task", "every_vector_gives_its_frames_its_opening_and_its_object"),
    ("blocks", "spec/vectors/dialect/blocks", "the_vectors_of_blocks"),
    ("blocks-hosted", "spec/vectors/dialect/blocks-hosted", "the_vectors_of_hosted_turns"),
    ("agents-sdk", "spec/vectors/dialect/agents-sdk", "the_vectors_of_agents_sdk"),
    ("simple-run", "spec/vectors/dialect/simple-run", "the_vectors_of_simple_run"),
];

fn find_vector(vector: &str) -> Result<Test> {
    let (area, case) = vector.split_once('/').context("a vector is v:AREA/CASE")?;
    let known = VECTOR_TESTS.iter().find(|(name, ..)| *name == area);
    let (_, folder, test) =
        known.with_context(|| format!("no test is known that runs the vectors of `{area}`"))?;
    let path = format!("{folder}/{case}");
    let is_there = ["", ".json"].iter().any(|end| root().join(format!("{path}{end}")).exists());
    ensure!(is_there, "there is no vector {path}");
    Ok(Test { shown: format!("vector `{path}`"), passes_as: (*test).to_owned() })
}

/// The functions of tests that passed, by the last part of their names, and the client files that passed.
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
            if let Some((suite, _)) = line.split_once(": passed in ").filter(|_| !line.starts_with("──"))
            {
                let name = suite.split_whitespace().next().unwrap_or_default();
                passed.insert(crash_suite(name));
            }
            if let Some((file, _)) = line.split_once(": ").filter(|_| line.starts_with("tests/clients/")) {
                // A file that failed is printed with this word, and its suite fails.
                if !line.contains(": failed") {
                    passed.insert(file.to_owned());
                }
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
        "# Checklist\n\n\
         For contributors and evaluators: which test shows which requirement.\n\
         After this page you can find the test of each requirement, and its last result.\n\n\
         Generated by `cargo xtask checklist RESULTS…` from `checklist.txt`; `Last run` comes from the output of those runs.\n\
         A function under `tests/src/crash` is a part of the suite `crash`, which prints its own counts.\n\n\
         | Line | Section | Requirement | Test | Last run |\n|---|---|---|---|---|\n",
    );
    for line in lines {
        let (shown, verdict) = match &line.proof {
            Proof::NotProvided(reason) => (reason.clone(), "not provided"),
            Proof::Tests(tests) => {
                let shown: Vec<&str> = tests.iter().map(|test| test.shown.as_str()).collect();
                let all_passed = tests.iter().all(|test| passed.contains(&test.passes_as));
                (shown.join("<br>"), if all_passed { "pass" } else { "not run" })
            }
        };
        // Writing to a string does not fail.
        let _ = writeln!(text, "{} {shown} | {verdict} |", row_head(line));
    }
    text
}
