//! `cargo xtask fuzz`: coverage-guided fuzzing with the pinned compiler. See `fuzz/src/main.rs`.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::files::root;

/// What libFuzzer needs of the compiler. Cargo's own `-Z sanitizer` needs a nightly compiler, these passes do not.
const COUNTERS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
                        -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
                        -Cllvm-args=-sanitizer-coverage-pc-table";
const FOLDER: &str = "target/fuzz";
const CORPUS: &str = "fuzz/corpus";

/// What a step of CI spends on each target, and what the nightly run does.
pub const SHORT: u64 = 5;
pub const LONG: u64 = 600;

/// `[TARGET…] [--seconds N]`; by default all targets. Zero seconds only replay the corpus.
pub fn fuzz(words: &[&str]) -> Result<()> {
    let (chosen, seconds) = arguments(words)?;
    let known =
        targets(&std::fs::read_to_string(root().join("fuzz/src/main.rs")).context("the list of targets")?);
    if let Some(unknown) = chosen.iter().find(|name| !known.iter().any(|known| known == *name)) {
        bail!("there is no target `{unknown}`; there are: {}", known.join(", "));
    }
    build()?;
    let mut failed = Vec::new();
    for target in known.iter().filter(|known| chosen.is_empty() || chosen.contains(&known.as_str())) {
        if let Err(error) = run_target(target, seconds) {
            eprintln!("{error:#}");
            failed.push(target.as_str());
        }
    }
    ensure!(failed.is_empty(), "failed: {}; the inputs are in {FOLDER}/artifacts", failed.join(", "));
    Ok(())
}

fn arguments<'a>(words: &[&'a str]) -> Result<(Vec<&'a str>, u64)> {
    match words {
        [targets @ .., "--seconds", seconds] if !targets.contains(&"--seconds") => Ok((
            targets.to_vec(),
            seconds.parse().with_context(|| format!("`{seconds}` is no number of seconds"))?,
        )),
        targets if targets.iter().all(|target| !target.starts_with('-')) => Ok((targets.to_vec(), SHORT)),
        _ => bail!("usage: cargo xtask fuzz [TARGET…] [--seconds N]"),
    }
}

/// The names in the rows `("name", module::function),`.
fn targets(source: &str) -> Vec<String> {
    let rows = source.lines().filter_map(|line| line.strip_prefix("    (\"")?.strip_suffix("),"));
    rows.filter_map(|row| Some(row.split_once("\", ")?.0.to_owned())).collect()
}

fn triple() -> String {
    format!("{}-unknown-linux-gnu", std::env::consts::ARCH)
}

/// With a target of its own, so that build scripts and macros are compiled without counters.
fn build() -> Result<()> {
    let mut command = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()));
    command.args(["build", "--release", "--manifest-path", "fuzz/Cargo.toml", "--target-dir", FOLDER]);
    command.args(["--target", &triple()]).env("RUSTFLAGS", COUNTERS).current_dir(root());
    crate::program::run(command)
}

/// New inputs go to the target folder; the committed corpus is only read.
fn run_target(target: &str, seconds: u64) -> Result<()> {
    let (found, artifacts) = (format!("{FOLDER}/corpus/{target}"), format!("{FOLDER}/artifacts/{target}/"));
    for folder in [&found, &artifacts] {
        std::fs::create_dir_all(root().join(folder)).with_context(|| folder.clone())?;
    }
    let limit = match seconds {
        0 => "-runs=0".to_owned(),
        seconds => format!("-max_total_time={seconds}"),
    };
    let mut command = Command::new(root().join(FOLDER).join(triple()).join("release/riverrun-fuzz"));
    command.current_dir(root()).env("RIVERRUN_FUZZ_TARGET", target);
    command.args([
        &limit,
        "-timeout=10",
        "-rss_limit_mb=1024",
        "-max_len=4096",
        "-verbosity=0",
        "-print_final_stats=1",
    ]);
    command.arg(format!("-artifact_prefix={artifacts}")).arg(found);
    let corpus = format!("{CORPUS}/{target}");
    if Path::new(&root().join(&corpus)).exists() {
        command.arg(corpus);
    }
    println!("fuzzing {target}");
    crate::program::run(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read_from_the_program() {
        let source = std::fs::read_to_string(root().join("fuzz/src/main.rs")).unwrap();
        let names = targets(&source);
        assert!(
            names.iter().any(|name| name == "json") && names.iter().any(|name| name == "websocket"),
            "{names:?}"
        );
        let rows = source.lines().filter(|line| line.starts_with("    (\"")).count();
        assert_eq!(names.len(), rows);
        for name in names {
            assert!(root().join(CORPUS).join(&name).is_dir(), "{name} has no corpus");
        }
    }

    #[test]
    fn arguments_name_targets_and_a_time() {
        assert_eq!(arguments(&[]).unwrap(), (Vec::new(), SHORT));
        assert_eq!(arguments(&["json", "--seconds", "0"]).unwrap(), (vec!["json"], 0));
        assert!(arguments(&["--seconds"]).is_err() && arguments(&["--seconds", "x"]).is_err());
    }
}
