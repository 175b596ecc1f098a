//! Runs a plan on one server, or on Riverrun and the ceiling by turns.

use std::path::{Path, PathBuf};

use crate::error::MeasurementResult;
use crate::launch::Launch;
use crate::plan::{Measurement, MeasurementPlan};
use crate::process;
use crate::report::{FailedRound, Report, RoundValue, Server, Unit};
use crate::storage::{self, Turns};
use crate::target::Target;

/// Servers to compare; data goes to new directories under `directory`.
#[derive(Clone, Debug)]
pub struct Compare {
    pub riverrun: Option<Launch>,
    pub ceiling: Option<Launch>,
    pub directory: PathBuf,
}

impl Compare {
    /// Runs every measurement on fresh servers, which take turns at going first.
    /// `progress` gets one line per run.
    pub async fn run(&self, plan: &MeasurementPlan, mut progress: impl FnMut(&str)) -> Report {
        process::raise_open_files();
        let mut report = Report::new(plan.name, plan.rounds);
        for measurement in &plan.measurements {
            let mut readings = Vec::new();
            for round in 0..measurement.rounds(plan) {
                for server in order(round) {
                    let Some(launch) = self.launch(server) else { continue };
                    let result = in_fresh_directory(launch, &self.directory, measurement).await;
                    progress(&line(measurement, server, round, &result));
                    match result {
                        Ok(values) => readings.extend(values.into_iter().map(|value| (server, value))),
                        Err(error) => report.failures.push(failure(measurement, server, &error)),
                    }
                }
            }
            report.add(readings);
        }
        report
    }

    fn launch(&self, server: Server) -> Option<&Launch> {
        match server {
            Server::Riverrun => self.riverrun.as_ref(),
            Server::Ceiling => self.ceiling.as_ref(),
        }
    }
}

/// Runs a plan against a server that already runs; what needs a fresh server is left out.
pub async fn run_on(target: &Target, plan: &MeasurementPlan, mut progress: impl FnMut(&str)) -> Report {
    process::raise_open_files();
    let mut report = Report::new(plan.name, plan.rounds);
    for measurement in &plan.measurements {
        let mut readings = Vec::new();
        for round in 0..measurement.rounds(plan) {
            let result = measurement.run(target).await;
            progress(&line(measurement, Server::Riverrun, round, &result));
            match result {
                Ok(values) => readings.extend(values.into_iter().map(|value| (Server::Riverrun, value))),
                Err(error) => report.failures.push(failure(measurement, Server::Riverrun, &error)),
            }
        }
        report.add(readings);
    }
    report
}

/// Whoever goes first finds a cooler machine, so they take turns.
fn order(round: usize) -> [Server; 2] {
    match round % 2 {
        0 => [Server::Riverrun, Server::Ceiling],
        _ => [Server::Ceiling, Server::Riverrun],
    }
}

async fn in_fresh_directory(
    launch: &Launch,
    under: &Path,
    measurement: &Measurement,
) -> MeasurementResult<Vec<RoundValue>> {
    if let Measurement::Storage(load) = measurement {
        let live = stored(launch, under, *load, Turns::Open).await?;
        let sealed = stored(launch, under, *load, Turns::Finished).await?;
        let parts = [("live", Unit::Bytes, Some(live)), ("sealed", Unit::Bytes, Some(sealed))];
        return Ok(measurement.named(parts));
    }
    let directory = tempfile::tempdir_in(under)?;
    let running = launch.start(directory.path()).await?;
    let readings = measurement.run(&running.target).await;
    running.stop().await?;
    readings
}

/// Bytes per event: the growth that a second, equal fill brings.
async fn stored(
    launch: &Launch,
    under: &Path,
    load: storage::StorageLoad,
    turns: Turns,
) -> MeasurementResult<f64> {
    let directory = tempfile::tempdir_in(under)?;
    let running = launch.start(directory.path()).await?;
    storage::fill(&running.target, load, turns).await?;
    let (running, before) = running.stored().await?;
    let events = storage::fill(&running.target, load, turns).await?;
    let (running, after) = running.stored().await?;
    running.stop().await?;
    Ok(storage::per_event(before, after, events))
}

fn failure(measurement: &Measurement, server: Server, error: &crate::MeasurementError) -> FailedRound {
    FailedRound { measurement: measurement.name(), server, error: error.to_string() }
}

fn line(
    measurement: &Measurement,
    server: Server,
    round: usize,
    result: &MeasurementResult<Vec<RoundValue>>,
) -> String {
    let values = match result {
        Err(error) => format!("failed: {error}"),
        Ok(readings) => {
            let value = |reading: &RoundValue| {
                let part = reading.name.rsplit('.').next().unwrap_or_default();
                format!("{part} {:.2}", reading.value)
            };
            readings.iter().map(value).collect::<Vec<_>>().join(", ")
        }
    };
    format!("{} round {} {server:?}: {values}", measurement.name(), round + 1)
}
