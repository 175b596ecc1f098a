//! `crash SUITE`: one of the crash suites, or all, against a binary.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::{Parser, Subcommand};
use riverrun_tests::crash::{Program, control, fairness, faults, kill, power, runner, seeded};

#[derive(Debug, Parser)]
struct Arguments {
    /// The server to test; that of the profile `suite` beside this program without it.
    #[arg(long, global = true)]
    binary: Option<PathBuf>,
    /// A bug to switch on, in a binary that was built with them.
    #[arg(long, global = true)]
    bug: Option<String>,
    /// Where chance begins.
    #[arg(long, global = true, default_value_t = 1)]
    seed: u64,
    /// The longest that a suite with cycles may take.
    #[arg(long, global = true, default_value_t = 90)]
    seconds: u64,
    #[command(subcommand)]
    suite: Suite,
}

#[derive(Debug, Subcommand)]
enum Suite {
    /// Every suite, in the size for each push.
    All,
    /// Every suite, for much longer.
    Nightly,
    /// Kills the server at random moments under load.
    Kill {
        #[arg(long, default_value_t = 300)]
        cycles: u64,
    },
    /// Cuts the power of the server's disk at random moments under load.
    Power {
        #[arg(long, default_value = "ext4")]
        file_system: String,
        #[arg(long, default_value_t = 60)]
        cycles: u64,
    },
    /// Cuts the power of a program that only writes and syncs: what no program can be asked to keep.
    Control {
        #[arg(long, default_value = "ext4")]
        file_system: String,
        #[arg(long, default_value_t = 40)]
        cycles: u64,
    },
    /// What `control` starts.
    #[command(hide = true)]
    ControlWriter { path: PathBuf, shape: control::Shape },
    /// Counts the syncs of the server.
    Syncs,
    /// Fails the syncs of the server, one after the other.
    FailingSync {
        /// How many behind those of the start.
        #[arg(long, default_value_t = 6)]
        after: u64,
    },
    /// Fills the server's disk and frees it again.
    Full,
    /// Starts a server on directories that are in use or of a newer format.
    Start,
    /// Asks with another tenant's key and with a cookie.
    Edge,
    /// Runs agents on a server that is killed at every event, and lets many decide at once.
    Runner {
        /// Kills at random instants.
        #[arg(long, default_value_t = 60)]
        random: u64,
        #[arg(long, default_value_t = 200)]
        races: u64,
    },
    /// Measures what running turns costs; in no other suite, because its figures are those of the machine.
    Overhead {
        #[arg(long, default_value_t = 200)]
        turns: usize,
        #[arg(long, default_value_t = 600)]
        tokens: u64,
        /// Tokens a second of each turn.
        #[arg(long, default_value_t = 200)]
        rate: u64,
        /// Tokens come over HTTP from a model service, which shares the cores, and not from a script in the server.
        #[arg(long)]
        service: bool,
        /// Turns that wait for a decision.
        #[arg(long, default_value_t = 10_000)]
        waiting: usize,
    },
    /// Floods a tenant's sessions with tool calls and measures what another tenant notices; in no other suite, because
    /// its figures are those of the machine.
    Fairness {
        /// What the other tenant floods the server with.
        #[arg(long, value_enum, default_value = "calls")]
        kind: fairness::kinds::Kind,
        /// Calls in one answer.
        #[arg(long, default_value_t = 3_000)]
        calls: usize,
        /// Of these the agent runs as many.
        #[arg(long, default_value_t = 128)]
        limit: usize,
        /// Sessions that flood at the same time.
        #[arg(long, default_value_t = 1)]
        sessions: usize,
    },
    /// Makes sessions, leaves them alone and prints the server's memory over time; in no other suite.
    Idle {
        #[arg(long, default_value_t = 50_000)]
        sessions: usize,
        #[arg(long, default_value_t = 120)]
        rest: u64,
    },
    /// Switches known bugs on, one at a time, and sees that the suites notice.
    Seeded,
}

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> Result<()> {
    // These two know no server.
    match arguments.suite {
        Suite::ControlWriter { path, shape } => return control::write(&path, shape),
        Suite::Control { file_system, cycles } => {
            return control::run(&control::Plan { file_system, cycles, seed: arguments.seed }).map(drop);
        }
        _ => {}
    }
    let binary = arguments.binary.map_or_else(beside, Ok)?;
    ensure!(binary.is_file(), "there is no {}: cargo build --profile suite -p riverrun", binary.display());
    let program = Program { bug: arguments.bug, ..Program::new(binary) };
    let how = How { program, seed: arguments.seed, time: Duration::from_secs(arguments.seconds) };
    how.run(arguments.suite).map(drop)
}

fn beside() -> Result<PathBuf> {
    let here = std::env::current_exe()?;
    let target = here.parent().and_then(Path::parent).context("this program lies in a target directory")?;
    Ok(target.join("suite/riverrun"))
}

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("this crate lies in the workspace").to_owned()
}

struct How {
    program: Program,
    seed: u64,
    time: Duration,
}

impl How {
    /// False if the suite cannot be run here; it has said why.
    fn run(&self, suite: Suite) -> Result<bool> {
        let (program, seed, time) = (&self.program, self.seed, self.time);
        match suite {
            Suite::Kill { cycles } => kill::run(program, &kill::Plan { cycles, seed, time }).map(|_| true),
            Suite::Power { file_system, cycles } => {
                let plan = power::Plan { file_system, cycles, seed, time };
                power::run(program, &plan).map(|verdict| verdict.is_some())
            }
            Suite::Control { file_system, cycles } => {
                control::run(&control::Plan { file_system, cycles, seed })
            }
            Suite::ControlWriter { path, shape } => control::write(&path, shape).map(|()| true),
            Suite::Syncs => faults::discipline(program),
            Suite::FailingSync { after } => faults::failing_sync(program, after),
            Suite::Full => faults::full(program),
            Suite::Start => {
                faults::locked(program)?;
                faults::newer(program)?;
                faults::missing(program).map(|()| true)
            }
            Suite::Edge => faults::edge(program).map(|()| true),
            Suite::Runner { random, races } => {
                runner::run(program, &runner::Plan { random, races, seed }).map(|()| true)
            }
            Suite::Overhead { turns, tokens, rate, service, waiting } => {
                let plan = runner::overhead::Plan { turns, tokens, rate, service, waiting };
                runner::overhead::run(program, &plan).map(|()| true)
            }
            Suite::Fairness { kind, calls, limit, sessions } => {
                fairness::flood::run(program, &fairness::flood::Plan { kind, calls, limit, sessions })
                    .map(|()| true)
            }
            Suite::Idle { sessions, rest } => {
                fairness::idle::run(program, &fairness::idle::Plan { sessions, seconds: rest }).map(|()| true)
            }
            Suite::Seeded => seeded::run(&root()).map(|()| true),
            Suite::All => all(self, every_push()).map(|()| true),
            Suite::Nightly => {
                let time = Duration::from_secs(7200);
                all(&Self { program: program.clone(), seed, time }, nightly()).map(|()| true)
            }
        }
    }
}

fn every_push() -> Vec<Suite> {
    vec![
        Suite::Start,
        Suite::Edge,
        Suite::Syncs,
        Suite::FailingSync { after: 6 },
        Suite::Full,
        Suite::Kill { cycles: 300 },
        Suite::Control { file_system: "ext4".to_owned(), cycles: 40 },
        Suite::Power { file_system: "ext4".to_owned(), cycles: 60 },
        Suite::Runner { random: 60, races: 200 },
        Suite::Seeded,
    ]
}

fn nightly() -> Vec<Suite> {
    let mut suites = every_push();
    suites.extend([
        Suite::FailingSync { after: 100 },
        Suite::Kill { cycles: 10_000 },
        Suite::Runner { random: 2_000, races: 4_000 },
        Suite::Power { file_system: "ext4".to_owned(), cycles: 2_000 },
        Suite::Power { file_system: "xfs".to_owned(), cycles: 2_000 },
    ]);
    suites
}

/// Runs every suite, also after a failure.
fn all(how: &How, suites: Vec<Suite>) -> Result<()> {
    let (mut failed, mut left_out) = (Vec::new(), Vec::new());
    for suite in suites {
        let (name, began) = (format!("{suite:?}"), Instant::now());
        let verdict = match how.run(suite) {
            Ok(true) => "passed",
            Ok(false) => {
                left_out.push(name.clone());
                "LEFT OUT"
            }
            Err(error) => {
                eprintln!("{error:#}");
                failed.push(name.clone());
                "FAILED"
            }
        };
        println!("{name}: {verdict} in {:.1} s", began.elapsed().as_secs_f64());
    }
    if !left_out.is_empty() {
        println!("left out, because they cannot be run here: {}", left_out.join(", "));
    }
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    Ok(())
}
