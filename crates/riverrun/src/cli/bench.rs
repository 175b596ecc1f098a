//! `riverrun bench`.

use clap::Args;

use super::Context;
use super::exit::{Exit, Failure, Outcome};

#[derive(Debug, Args)]
pub struct BenchArgs {
    /// How long each measurement runs.
    #[arg(long, default_value = "5s", value_parser = super::duration::parse)]
    time: std::time::Duration,
}

pub async fn run(args: BenchArgs, _context: &Context) -> Outcome {
    measure(&args).await
}

/// The one call into the load generator.
async fn measure(args: &BenchArgs) -> Outcome {
    Err(Failure::new(
        Exit::Failed,
        format_args!("this build has no load generator to run for {:?}", args.time),
    )
    .hint("run it from the source tree: `cargo run --release -p riverrun-load`"))
}
