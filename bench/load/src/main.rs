//! `riverrun-load`: starts Riverrun and the ceiling, measures both by turns, and writes the report.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use riverrun_load::{Compare, Launch, MeasurementPlan, ServerKind};

/// Measures Riverrun side by side with the machine's ceiling.
#[derive(Parser)]
struct Arguments {
    /// The `riverrun` binary.
    #[arg(long)]
    riverrun: Option<PathBuf>,
    /// The `riverrun-ceiling` binary.
    #[arg(long)]
    ceiling: Option<PathBuf>,
    /// Run the ceiling in both roles: the ratios then show the noise of this machine.
    #[arg(long, conflicts_with = "riverrun", requires = "ceiling")]
    noise: bool,
    /// Less load and one round: enough to see a regression.
    #[arg(long)]
    quick: bool,
    /// Rounds of which the median is reported.
    #[arg(long)]
    rounds: Option<usize>,
    /// Only measurements whose name contains this, such as `m3` or `append.100`.
    #[arg(long)]
    only: Option<String>,
    /// A further argument for `riverrun serve`; may be given several times.
    #[arg(long, allow_hyphen_values = true)]
    riverrun_arg: Vec<String>,
    /// A further argument for the ceiling; may be given several times.
    #[arg(long, allow_hyphen_values = true)]
    ceiling_arg: Vec<String>,
    /// Where data goes while measuring; it must lie on a real disk.
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Write the report as JSON to this file.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Write the report as a Markdown table to this file; it is printed in any case.
    #[arg(long)]
    markdown: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> ExitCode {
    // Dropping the run stops the servers and removes their data.
    let result = tokio::select! {
        result = run(Arguments::parse()) => result,
        () = asked_to_stop() => Err("stopped".into()),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("riverrun-load: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn asked_to_stop() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => tokio::select! {
            _ = terminate.recv() => {}
            _ = tokio::signal::ctrl_c() => {}
        },
        Err(_) => std::future::pending().await,
    }
}

/// Whether every measurement gave a number.
async fn run(arguments: Arguments) -> Result<bool, Box<dyn std::error::Error>> {
    let directory = match &arguments.dir {
        Some(directory) => tempfile::tempdir_in(directory)?,
        None => tempfile::tempdir()?,
    };
    let compare = compare(&arguments, directory.path());
    if compare.riverrun.is_none() && compare.ceiling.is_none() {
        return Err("nothing to measure: give --riverrun, --ceiling or both".into());
    }
    let mut report = compare.run(&plan(&arguments), |line| eprintln!("{line}")).await;
    if arguments.noise {
        report.plan.push_str(", the ceiling in both roles");
    }
    let markdown = report.markdown();
    println!("{markdown}");
    if let Some(path) = &arguments.json {
        std::fs::write(path, serde_json::to_string_pretty(&report)? + "\n")?;
    }
    if let Some(path) = &arguments.markdown {
        std::fs::write(path, &markdown)?;
    }
    Ok(report.failures.is_empty())
}

fn plan(arguments: &Arguments) -> MeasurementPlan {
    let mut plan = if arguments.quick { MeasurementPlan::quick() } else { MeasurementPlan::full() };
    plan.rounds = arguments.rounds.unwrap_or(plan.rounds).clamp(1, 100);
    match &arguments.only {
        Some(part) => plan.only(part),
        None => plan,
    }
}

fn compare(arguments: &Arguments, directory: &Path) -> Compare {
    let ceiling = |file: &str| {
        let program = arguments.ceiling.clone()?;
        let further = arguments.ceiling_arg.clone();
        Some(Launch { kind: ServerKind::Ceiling, program, arguments: further, file: directory.join(file) })
    };
    let riverrun = || {
        let program = arguments.riverrun.clone()?;
        let further = arguments.riverrun_arg.clone();
        Some(Launch { kind: ServerKind::Riverrun, program, arguments: further, file: PathBuf::new() })
    };
    Compare {
        riverrun: if arguments.noise { ceiling("stand-in.wal") } else { riverrun() },
        ceiling: ceiling("ceiling.wal"),
        directory: directory.to_owned(),
    }
}
