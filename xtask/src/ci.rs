//! Everything that must hold before a push, step by step.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::files::root;
use crate::tidy;

/// One step: a name, and what it does. A new check is a new line in [`steps`].
pub struct Step {
    pub name: &'static str,
    run: Box<dyn Fn() -> Result<()>>,
}

fn steps() -> Vec<Step> {
    vec![
        step("format", || cargo(&["fmt", "--all", "--check"])),
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
        step("documentation tests", || {
            cargo(&["test", "--profile", "suite", "--workspace", "--doc", "--quiet"])
        }),
        step("generated Python", || {
            run("python3", &["-c", "import riverrun.generated.events"], "clients/python", &[])
        }),
        step("typescript", || run("sh", &["-c", "npm ci && npm test"], "clients/typescript", &[])),
        step("python", || run("python3", &["run_tests.py"], "clients/python", &[])),
    ]
}

pub fn ci() -> Result<()> {
    run_all(steps())
}

/// What takes too long for every push.
pub fn nightly() -> Result<()> {
    let mut steps = steps();
    steps.push(step("property tests, long", || {
        tests(&["--workspace", "--no-fail-fast"], &[("PROPTEST_CASES", "20000")])
    }));
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

/// Runs every step, also after a failure: one run shows all that is wrong.
pub fn run_all(steps: Vec<Step>) -> Result<()> {
    let started = Instant::now();
    let (mut failed, mut reasons) = (Vec::new(), Vec::new());
    for step in &steps {
        println!("── {}", step.name);
        let (began, spent) = (Instant::now(), processor_time());
        let result = (step.run)();
        let verdict = if result.is_ok() { "passed" } else { "FAILED" };
        let processor = processor_time().saturating_sub(spent);
        println!(
            "── {}: {verdict} in {}, {} of processor time",
            step.name,
            seconds(began.elapsed()),
            seconds(processor)
        );
        if let Err(error) = result {
            eprintln!("{error:#}");
            failed.push(step.name);
            reasons.push(format!("{}: {error:#}", step.name));
        }
    }
    let passed = steps.len() - failed.len();
    println!("all steps took {}", seconds(started.elapsed()));
    // Again at the end: a log that was cut to its last lines still names what failed.
    reasons.iter().for_each(|reason| println!("{reason}"));
    println!("{passed} passed, {} failed", failed.len());
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    Ok(())
}

pub fn step(name: &'static str, run: impl Fn() -> Result<()> + 'static) -> Step {
    Step { name, run: Box::new(run) }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

/// What the programs that this one started and waited for have used of the cores. Zero where there is no `/proc`.
fn processor_time() -> Duration {
    const TICKS_PER_SECOND: u64 = 100;
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program may hold spaces; what follows it may not.
    let fields: Vec<&str> =
        stat.rsplit_once(')').map_or(stat.as_str(), |(_, rest)| rest).split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok()).unwrap_or_default();
    const CHILDREN_USER: usize = 13;
    Duration::from_millis((ticks(CHILDREN_USER) + ticks(CHILDREN_USER + 1)) * 1_000 / TICKS_PER_SECOND)
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
