//! The `riverrun` binary: reads its arguments, runs one command, answers with an exit code.

mod cli;

/// Many small buffers of many sessions, freed from other threads: what this allocator is good at.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
