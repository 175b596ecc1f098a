//! Everything that must hold before a push, step by step.

use std::process::Command;
use std::time::Instant;

use anyhow::Result;

use crate::files::root;
use crate::records;
use crate::steps::{CiStep, named, run_all, step};
use crate::tidy;

/// A new check is a new line.
fn steps() -> Vec<CiStep> {
    vec![
        step("install clients", crate::clients::install_early).beside(),
        step("generated Python", || {
            run("python3", &["-c", "import riverrun.generated.events"], "clients/python", &[])
        })
        .beside(),
        step("typescript", || run("sh", &["-c", "npm ci && npm test"], "clients/typescript", &[])).beside(),
        step("python", || run("python3", &["run_tests.py"], "clients/python", &[])).beside(),
        step("format", || {
            cargo(&["fmt", "--all", "--check"])?;
            cargo(&["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"])
        }),
        step("checklist", crate::checklist::check),
        // In the profile of the tests: build scripts, procedural macros and SQLite are compiled once for both.
        step("lint", || {
            cargo(&["clippy", "--profile", "suite", "--workspace", "--all-targets", "--", "-D", "warnings"])
        }),
        step("tidy", tidy::tidy),
        // Of the whole workspace, so that its crates are compiled with the same features as for the tests.
        step("binaries", || cargo(&["build", "--profile", "suite", "--workspace", "--bins"])),
        step("tests", || tests(&["--workspace", "--no-fail-fast"], &[])),
        step("crash", || crash("all")),
        step("attack", || run("target/suite/attack", &[], "", &[])),
        step("official clients", || crate::clients::clients(&[])),
        // The target folder has a profile of its own there: it shares no crate with the steps before.
        step("fuzz", || crate::fuzz::fuzz(&[])),
        step("documentation", documentation),
        step("documentation tests", || {
            cargo(&["test", "--profile", "suite", "--workspace", "--doc", "--quiet"])
        }),
    ]
}

/// Runs every step, or those with these names.
pub fn ci(names: &[&str]) -> Result<()> {
    match names {
        [] => {
            let began = Instant::now();
            run_all(steps())?;
            records::write(&root(), records::CI_SECONDS, began.elapsed().as_secs_f64());
            Ok(())
        }
        names => run_all(named(steps(), names)?),
    }
}

/// What takes too long for every push.
pub fn nightly() -> Result<()> {
    let mut steps = steps();
    steps.push(step("property tests, long", || {
        tests(&["--workspace", "--no-fail-fast"], &[("PROPTEST_CASES", "20000")])
    }));
    steps.push(step("fuzz, long", || crate::fuzz::fuzz(&["--seconds", &crate::fuzz::LONG.to_string()])));
    steps.push(step("crash, long", || crash("nightly")));
    steps.push(step("damage, every bit", || {
        let words = [
            "nextest",
            "run",
            "--cargo-profile",
            "suite",
            "--package",
            "riverrun-log-sqlite",
            "--test",
            "sweep",
        ];
        run(&cargo_path(), &words, "", &[("RIVERRUN_SWEEP", "all")])
    }));
    run_all(steps)
}

/// A page with a broken link or without a text fails.
fn documentation() -> Result<()> {
    let words = ["doc", "--profile", "suite", "--no-deps", "--workspace", "--lib", "--quiet"];
    run(&cargo_path(), &words, "", &[("RUSTDOCFLAGS", "-D warnings")])
}

/// The suites that kill, cut off and starve the binary. Some of them look at it through strace.
fn crash(suites: &str) -> Result<()> {
    if Command::new("strace").arg("--version").output().is_err() {
        let _ = Command::new("apt-get").args(["install", "--yes", "strace"]).output();
    }
    run("target/suite/crash", &[suites], "", &[])
}

/// Measures the optimised binary beside the machine's own ceiling. Further arguments go to `riverrun bench`.
pub fn bench(arguments: &[&str]) -> Result<()> {
    cargo(&["build", "--release", "--package", "riverrun", "--package", "riverrun-ceiling"])?;
    let mut words = vec!["bench", "--ceiling", "target/release/riverrun-ceiling"];
    words.extend(arguments);
    run("target/release/riverrun", &words, "", &[])
}

fn cargo_path() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

/// Runs tests with nextest where it is installed, which is faster, and with cargo's own runner where it is not.
fn tests(arguments: &[&str], environment: &[(&str, &str)]) -> Result<()> {
    let words: &[&str] = match has_nextest() {
        true => &["nextest", "run", "--cargo-profile", "suite"],
        false => &["test", "--profile", "suite", "--lib", "--bins", "--tests"],
    };
    run(&cargo_path(), &[words, arguments].concat(), "", environment)
}

pub fn has_nextest() -> bool {
    let probe = Command::new(cargo_path()).args(["nextest", "--version"]).output();
    probe.is_ok_and(|output| output.status.success())
}

pub fn cargo(arguments: &[&str]) -> Result<()> {
    run(&cargo_path(), arguments, "", &[])
}

/// Runs a program in a folder of the project.
pub fn run(program: &str, arguments: &[&str], folder: &str, environment: &[(&str, &str)]) -> Result<()> {
    let mut command = Command::new(program);
    command.args(arguments).envs(environment.iter().copied()).current_dir(root().join(folder));
    crate::program::run(command)
}
