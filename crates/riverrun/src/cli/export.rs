//! `riverrun export SESSION`.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::Context;
use super::connect::resolve_session;
use super::exit::{Exit, Failure, Outcome};
use super::progress::Progress;

#[derive(Debug, Args)]
pub struct ExportArgs {
    /// An id, the beginning of one, or `-` for the session that changed last.
    session: String,
    /// Where to; stdout without it.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The benchmark trials that a harness recorded in the session, in place of the session.
    #[arg(long)]
    benchmark: bool,
    /// The form of the trials: `json`, `ndjson` or `csv`.
    #[arg(long, value_enum, default_value_t, requires = "benchmark")]
    format: TrialFormat,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum TrialFormat {
    #[default]
    Json,
    Ndjson,
    Csv,
}

pub async fn run(args: ExportArgs, context: &Context) -> Outcome {
    let client = context.connect.client()?;
    let session = resolve_session(&client, &args.session).await?;
    if args.benchmark {
        let trials = client.benchmark(&session, args.format.as_str()).await?;
        return write_trials(&trials, args.output.as_deref(), context);
    }
    let (mut progress, mut done) = (Progress::new(context.output, format!("exporting {session}")), 0);
    match args.output {
        None => {
            // On a terminal the lines themselves show how far it is.
            let (mut failed, is_shown) = (None, !io::stdout().is_terminal());
            let result = client.export(&session, |bytes| {
                done += bytes.len() as u64;
                if is_shown {
                    progress.bytes(done, None);
                }
                write_or_keep(io::stdout().lock(), bytes, &mut failed)
            });
            let result = result.await;
            drop(progress);
            // What the output said is more to the point than that the export was stopped.
            failed.map_or(Ok(()), |error: io::Error| Err(Failure::from(error)))?;
            result?;
            io::stdout().flush()?;
        }
        Some(path) => {
            let (mut file, part) = open_part(&path)?;
            let result = client.export(&session, |bytes| {
                done += bytes.len() as u64;
                progress.bytes(done, None);
                file.write_all(bytes)
            });
            let result = result.await;
            drop(progress);
            if let Err(error) = result {
                std::fs::remove_file(&part).ok();
                return Err(error.into());
            }
            finish(file, &part, &path).map_err(|e| Failure::file(&path, &e))?;
            context.output.note(&format!("wrote {} to {}", session, path.display()));
        }
    }
    Ok(())
}

impl TrialFormat {
    fn as_str(self) -> &'static str {
        match self {
            TrialFormat::Json => "json",
            TrialFormat::Ndjson => "ndjson",
            TrialFormat::Csv => "csv",
        }
    }
}

fn write_trials(trials: &[u8], path: Option<&Path>, context: &Context) -> Outcome {
    let Some(path) = path else {
        let mut out = io::stdout().lock();
        out.write_all(trials)?;
        if !trials.ends_with(b"\n") {
            out.write_all(b"\n")?;
        }
        return Ok(out.flush()?);
    };
    let (mut file, part) = open_part(path)?;
    file.write_all(trials).map_err(|error| Failure::file(&part, &error))?;
    finish(file, &part, path).map_err(|error| Failure::file(path, &error))?;
    context.output.note(&format!("wrote the trials to {}", path.display()));
    Ok(())
}

fn write_or_keep(mut out: impl Write, bytes: &[u8], failed: &mut Option<io::Error>) -> io::Result<()> {
    out.write_all(bytes).map_err(|error| {
        let kind = error.kind();
        *failed = Some(error);
        io::Error::from(kind)
    })
}

/// The file appears under its name only when it is whole.
pub fn open_part(path: &Path) -> Outcome<(File, PathBuf)> {
    let name = path
        .file_name()
        .ok_or_else(|| Failure::new(Exit::Usage, format_args!("{} names no file", path.display())))?;
    let mut part = name.to_owned();
    part.push(".part");
    let part = path.with_file_name(part);
    let file = File::create(&part).map_err(|e| Failure::file(&part, &e))?;
    Ok((file, part))
}

pub fn finish(file: File, part: &Path, path: &Path) -> io::Result<()> {
    file.sync_all()?;
    std::fs::rename(part, path)
}
