//! `attack [WORD…]`: the attack suite, or the cases whose names contain a word, against a binary.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use riverrun_tests::attack;
use riverrun_tests::crash::Program;

#[derive(Debug, Parser)]
struct Arguments {
    /// The server to attack; default: that of the profile `suite` beside this program.
    #[arg(long)]
    binary: Option<PathBuf>,
    /// A bug to switch on, in a binary that was built with them.
    #[arg(long)]
    bug: Option<String>,
    /// Prints the names of the cases and runs none.
    #[arg(long)]
    list: bool,
    /// Words in the names of the cases to run; default: every case.
    words: Vec<String>,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if arguments.list {
        attack::cases().iter().for_each(|case| println!("{}", case.name));
        return Ok(());
    }
    let binary = arguments.binary.map_or_else(beside, Ok)?;
    ensure!(binary.is_file(), "there is no {}: cargo build --profile suite -p riverrun", binary.display());
    let program = Program { bug: arguments.bug, ..Program::new(binary) };
    attack::run(&program, &arguments.words)
}

fn beside() -> Result<PathBuf> {
    let here = std::env::current_exe()?;
    let target = here.parent().and_then(Path::parent).context("this program lies in a target directory")?;
    Ok(target.join("suite/riverrun"))
}
