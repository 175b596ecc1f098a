//! A run of named steps: each is reported with its time, and a failure does not hide what comes after it.

use std::process::{Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};

use crate::files::root;

/// One step: a name, and what it does.
pub struct CiStep {
    pub name: &'static str,
    run: Box<dyn Fn() -> Result<()>>,
    beside: bool,
}

pub fn step(name: &'static str, run: impl Fn() -> Result<()> + 'static) -> CiStep {
    CiStep { name, run: Box::new(run), beside: false }
}

impl CiStep {
    /// This step mostly waits for a network or a disk. It runs beside the others from the start on, in a process of its
    /// own: `cargo xtask ci NAME`.
    pub fn beside(self) -> Self {
        Self { beside: true, ..self }
    }
}

/// The steps with these names, in the order of the list.
pub fn named(steps: Vec<CiStep>, names: &[&str]) -> Result<Vec<CiStep>> {
    let known: Vec<&str> = steps.iter().map(|step| step.name).collect();
    for name in names {
        ensure!(known.contains(name), "there is no step `{name}`; there are: {}", known.join(", "));
    }
    let alone = |step| CiStep { beside: false, ..step };
    Ok(steps.into_iter().filter(|step| names.contains(&step.name)).map(alone).collect())
}

/// Runs every step, also after a failure: one run shows all that is wrong.
pub fn run_all(steps: Vec<CiStep>) -> Result<()> {
    let started = Instant::now();
    let mut report = Report::default();
    let (beside, steps): (Vec<CiStep>, Vec<CiStep>) = steps.into_iter().partition(|step| step.beside);
    let beside = spawn(beside.iter().map(|step| step.name).collect());
    for step in &steps {
        println!("── {}", step.name);
        let (began, spent) = (Instant::now(), processor_time());
        let result = (step.run)();
        let processor = processor_time().saturating_sub(spent);
        println!(
            "── {}: {} in {}, {} of processor time",
            step.name,
            verdict(result.is_ok()),
            seconds(began.elapsed()),
            seconds(processor)
        );
        report.add(step.name, result);
    }
    match beside.join() {
        Ok(results) => results.into_iter().for_each(|(name, result)| report.add(name, result)),
        // Without this their results would be missing, and the run would pass.
        Err(_) => report.add("steps beside", Err(anyhow!("the thread that runs them panicked"))),
    }
    println!("all steps took {}", seconds(started.elapsed()));
    report.finish()
}

/// Runs the steps one after the other on a thread, each in a process whose output is shown when it has ended.
fn spawn(names: Vec<&'static str>) -> JoinHandle<Vec<(&'static str, Result<()>)>> {
    std::thread::spawn(move || names.into_iter().map(|name| (name, run_beside(name))).collect())
}

fn run_beside(name: &str) -> Result<()> {
    let began = Instant::now();
    let this = std::env::current_exe().context("finding this program")?;
    let output = Command::new(this)
        .args(["ci", name])
        .current_dir(root())
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("starting the step {name}"))?;
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let is_well = output.status.success();
    // In one piece, so that it does not mix with the output of the step beside it.
    println!(
        "── {name}, beside\n{text}{errors}── {name}: {} in {}, beside",
        verdict(is_well),
        seconds(began.elapsed())
    );
    ensure!(is_well, "see the output above, or run `cargo xtask ci '{name}'`");
    Ok(())
}

#[derive(Default)]
struct Report {
    passed: usize,
    failed: Vec<&'static str>,
    reasons: Vec<String>,
}

impl Report {
    fn add(&mut self, name: &'static str, result: Result<()>) {
        match result {
            Ok(()) => self.passed += 1,
            Err(error) => {
                eprintln!("{error:#}");
                self.failed.push(name);
                self.reasons.push(format!("{name}: {error:#}"));
            }
        }
    }

    fn finish(self) -> Result<()> {
        // Again at the end: a log that was cut to its last lines still names what failed.
        self.reasons.iter().for_each(|reason| println!("{reason}"));
        println!("{} passed, {} failed", self.passed, self.failed.len());
        if !self.failed.is_empty() {
            bail!("failed: {}", self.failed.join(", "));
        }
        Ok(())
    }
}

fn verdict(is_well: bool) -> &'static str {
    if is_well { "passed" } else { "FAILED" }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

/// What the programs that this one started and waited for have used of the cores. Zero where there is no `/proc`.
pub fn processor_time() -> Duration {
    const TICKS_PER_SECOND: u64 = 100;
    const CHILDREN_USER: usize = 13;
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program may hold spaces; what follows it may not.
    let fields: Vec<&str> =
        stat.rsplit_once(')').map_or(stat.as_str(), |(_, remaining)| remaining).split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok()).unwrap_or_default();
    Duration::from_millis((ticks(CHILDREN_USER) + ticks(CHILDREN_USER + 1)) * 1_000 / TICKS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_chosen_by_name_and_run_alone() {
        let steps = || vec![step("a", || Ok(())), step("b", || Ok(())).beside()];
        let chosen = named(steps(), &["b"]).unwrap();
        assert_eq!(chosen.iter().map(|step| (step.name, step.beside)).collect::<Vec<_>>(), [("b", false)]);
        assert!(named(steps(), &["c"]).is_err_and(|error| error.to_string().contains("there are: a, b")));
    }

    #[test]
    fn a_failure_is_reported_behind_the_other_steps() {
        let failed = run_all(vec![step("a", || bail!("because")), step("b", || Ok(()))]);
        assert_eq!(failed.unwrap_err().to_string(), "failed: a");
    }
}
