//! The server is killed at random moments, and now and then asked to go; clients go on.

use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};

use super::checker::Verdict;
use super::load::Load;
use super::random::Random;
use super::round::Round;
use super::server::{Place, Program, Server};

/// Cycles on the same sessions before they are judged and others begin.
const PER_ROUND: u64 = 100;
/// Among so many cycles one is a SIGTERM, and one kills the server while it starts.
const DRAIN_ONE_IN: u64 = 10;
const EARLY_ONE_IN: u64 = 10;
/// The longest a server lives, and the longest it may take to drain.
const LIFE_MILLIS: u64 = 120;
/// What a kill between the two writes of the last frame leaves, and all that it can leave.
const HALF_A_FRAME: &str = "; 1 frames of 1 commits";
const DRAIN: Duration = Duration::from_secs(5);

#[derive(Debug, Clone)]
pub struct Plan {
    pub cycles: u64,
    pub seed: u64,
    pub time: Duration,
}

#[derive(Debug, Default)]
pub struct Report {
    pub cycles: u64,
    pub drains: u64,
    pub early: u64,
    pub resumes: u64,
    pub slowest_start: Duration,
    pub verdict: Verdict,
    pub took: Duration,
}

/// Runs the plan. Ok only if nothing was lost, changed, duplicated or otherwise wrong.
pub fn run(program: &Program, plan: &Plan) -> Result<Report> {
    let folder = tempfile::Builder::new().prefix("riverrun-kill-").tempdir()?;
    let place = Place::new(folder.path())?;
    let (began, mut report, mut random) = (Instant::now(), Report::default(), Random::new(plan.seed));
    let mut number = 0;
    while report.cycles < plan.cycles && began.elapsed() < plan.time {
        let until = (report.cycles + PER_ROUND).min(plan.cycles);
        let round = Round { program, place: &place, number, seed: random.next() };
        let shown = round
            .run(|load, server| cycles(load, server, program, &place, until, &mut random, &mut report))?;
        report.resumes += shown.resumes;
        report.verdict += shown.verdict;
        number += 1;
        if !report.verdict.is_good() {
            break;
        }
    }
    for line in place.said().lines().filter(|line| line.contains("not whole") && !line.contains(HALF_A_FRAME))
    {
        report.verdict.problem(format!("a killed server left more than half a frame: {line}"));
    }
    report.took = began.elapsed();
    println!("{}", report.line(plan));
    if !report.verdict.is_good() {
        let problems = report.verdict.problems.join("\n");
        // What a seeded bug did is of no interest.
        ensure!(program.bug.is_none(), "{problems}");
        bail!("{problems}\nthe data is in {}", folder.keep().display());
    }
    ensure!(report.cycles == plan.cycles, "the time of {} s was over", plan.time.as_secs());
    Ok(report)
}

impl Report {
    fn line(&self, plan: &Plan) -> String {
        let rate = self.cycles as f64 / self.took.as_secs_f64();
        format!(
            "kill -9: {} cycles ({} drains, {} during start), {}, resumes {}, max recovery {} ms, {rate:.1} cycles/s, seed {}",
            self.cycles,
            self.drains,
            self.early,
            self.verdict,
            self.resumes,
            self.slowest_start.as_millis(),
            plan.seed
        )
    }
}

fn cycles(
    _load: &Load,
    mut server: Server,
    program: &Program,
    place: &Place,
    until: u64,
    random: &mut Random,
    report: &mut Report,
) -> Result<Server> {
    while report.cycles < until {
        report.cycles += 1;
        std::thread::sleep(Duration::from_micros(random.below(LIFE_MILLIS * 1000)));
        if random.below(DRAIN_ONE_IN) == 0 {
            report.drains += 1;
            let (status, took) = server.terminate()?;
            ensure!(status.success(), "after SIGTERM the server ended with {status}");
            ensure!(took < DRAIN, "the server took {} ms to drain", took.as_millis());
        } else {
            server.kill()?;
        }
        if random.below(EARLY_ONE_IN) == 0 {
            report.early += 1;
            let starting = Server::spawn(program, place)?;
            std::thread::sleep(Duration::from_micros(random.below(40_000)));
            starting.kill()?;
        }
        let (next, took) = Server::start(program, place)?;
        report.slowest_start = report.slowest_start.max(took);
        server = next;
    }
    Ok(server)
}
