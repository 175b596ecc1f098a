//! `riverrun bench`: measures this very binary on this machine, beside the ceiling if it is at hand.

use std::path::{Path, PathBuf};

use clap::Args;
use riverrun_load::{Compare, Launch, MeasurementPlan, ServerKind};

use super::Context;
use super::exit::{Exit, Failure, Outcome};

/// What a measurement needs more of than a service: one tenant opens every stream.
const CONFIG: &str =
    "[limits]\nconnections = 20000\nstreams_per_tenant = 20000\nnew_sessions_per_second = 0\n";

#[derive(Debug, Args)]
pub struct BenchArgs {
    /// Less load and one round: enough to see a regression.
    #[arg(long)]
    quick: bool,
    /// Rounds of which the median is reported.
    #[arg(long)]
    rounds: Option<usize>,
    /// Only measurements whose name contains this, such as `m3` or `append.100`.
    #[arg(long)]
    only: Option<String>,
    /// The `riverrun-ceiling` binary, to measure the machine's own ceiling in the same run.
    #[arg(long, value_name = "FILE")]
    ceiling: Option<PathBuf>,
    /// Where data goes while measuring; it must lie on a real disk.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub async fn run(args: BenchArgs, context: &Context) -> Outcome {
    let io = |error: std::io::Error| {
        Failure::new(Exit::Io, format_args!("cannot make a temporary directory: {error}"))
    };
    let directory = match &args.dir {
        Some(parent) => tempfile::tempdir_in(parent).map_err(io)?,
        None => tempfile::tempdir().map_err(io)?,
    };
    let compare = compare(&args, directory.path())?;
    let report = compare.run(&plan(&args), |line| context.output.note(line)).await;
    if context.output.json {
        context.output.document(&report)?;
    } else {
        context.output.line(&report.markdown())?;
    }
    if report.failures.is_empty() {
        return Ok(());
    }
    Err(Failure::new(Exit::Failed, format_args!("{} measurements failed", report.failures.len()))
        .hint("the report says which; run them alone with --only"))
}

fn plan(args: &BenchArgs) -> MeasurementPlan {
    let mut plan = if args.quick { MeasurementPlan::quick() } else { MeasurementPlan::full() };
    plan.rounds = args.rounds.unwrap_or(plan.rounds).clamp(1, 100);
    match &args.only {
        Some(part) => plan.only(part),
        None => plan,
    }
}

fn compare(args: &BenchArgs, directory: &Path) -> Outcome<Compare> {
    let program = std::env::current_exe()?;
    let config = directory.join("bench.toml");
    std::fs::write(&config, CONFIG).map_err(|error| Failure::file(&config, &error))?;
    let arguments = vec!["--config".to_owned(), config.to_string_lossy().into_owned()];
    let ceiling = args.ceiling.clone().map(|program| Launch {
        kind: ServerKind::Ceiling,
        program,
        arguments: Vec::new(),
        file: directory.join("ceiling.wal"),
    });
    Ok(Compare {
        riverrun: Some(Launch { kind: ServerKind::Riverrun, program, arguments, file: PathBuf::new() }),
        ceiling,
        directory: directory.to_owned(),
    })
}
