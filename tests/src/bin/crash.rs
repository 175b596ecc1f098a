//! `crash SUITE`: one of the crash suites against a binary.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::{Parser, Subcommand};
use riverrun_tests::crash::{Program, kill};

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
    let program = Program { bug: arguments.bug, ..Program::new(arguments.binary) };
    match arguments.suite {
        Suite::Kill { cycles, seed, seconds } => {
            kill::run(&program, &kill::Plan { cycles, seed, time: Duration::from_secs(seconds) }).map(drop)
        }
    }
}
