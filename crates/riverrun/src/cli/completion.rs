//! `riverrun completion SHELL`.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::exit::Outcome;
use super::{Cli, Context};

#[derive(Debug, Args)]
pub struct CompletionArgs {
    shell: Shell,
}

pub fn run(args: CompletionArgs, context: &Context) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "riverrun", &mut script);
    context.output.data(&String::from_utf8_lossy(&script))
}
