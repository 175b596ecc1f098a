//! The `riverrun` binary: reads its arguments, runs one command, answers with an exit code.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
