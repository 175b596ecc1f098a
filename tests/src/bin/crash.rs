//! `crash SUITE`: one of the crash suites against a binary.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::{Parser, Subcommand};
use riverrun_tests::crash::{Program, faults, kill, power, seeded};

#[derive(Debug, Parser)]
struct Arguments {
    /// The server to test.
    #[arg(long, global = true, default_value = "target/suite/riverrun")]
    binary: PathBuf,
    /// A bug to switch on, in a binary that was built with them.
    #[arg(long, global = true)]
    bug: Option<String>,
    #[command(subcommand)]
    suite: Suite,
}

#[derive(Debug, Subcommand)]
enum Suite {
    /// Kills the server at random moments under load.
    Kill {
        #[arg(long, default_value_t = 300)]
        cycles: u64,
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// The longest it may take.
        #[arg(long, default_value_t = 90)]
        seconds: u64,
    },
    /// Cuts the power of the server's disk at random moments under load.
    Power {
        #[arg(long, default_value = "ext4")]
        file_system: String,
        #[arg(long, default_value_t = 100)]
        cycles: u64,
        #[arg(long, default_value_t = 1)]
        seed: u64,
        #[arg(long, default_value_t = 120)]
        seconds: u64,
    },
    /// Counts the syncs of the server.
    Syncs,
    /// Fails the syncs of the server, one after the other.
    FailingSync {
        /// How many behind those of the start.
        #[arg(long, default_value_t = 10)]
        after: u64,
    },
    /// Fills the server's disk and frees it again.
    Full,
    /// Switches known bugs on, one at a time, and sees that the suites notice.
    Seeded,
    /// Starts a server on directories that are in use or of a newer format.
    Start,
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

fn root() -> PathBuf {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("this crate lies in the workspace").to_owned()
}

fn run(arguments: Arguments) -> Result<()> {
    let program = Program { bug: arguments.bug, ..Program::new(arguments.binary) };
    match arguments.suite {
        Suite::Kill { cycles, seed, seconds } => {
            kill::run(&program, &kill::Plan { cycles, seed, time: Duration::from_secs(seconds) }).map(drop)
        }
        Suite::Power { file_system, cycles, seed, seconds } => {
            let time = Duration::from_secs(seconds);
            power::run(&program, &power::Plan { file_system, cycles, seed, time }).map(drop)
        }
        Suite::Syncs => faults::discipline(&program).map(drop),
        Suite::FailingSync { after } => faults::failing_sync(&program, after).map(drop),
        Suite::Seeded => seeded::run(&root()),
        Suite::Full => faults::full(&program),
        Suite::Start => faults::locked(&program).and_then(|()| faults::newer(&program)),
    }
}
