//! `riverrun backup FILE`.

use std::path::PathBuf;

use clap::Args;

use super::Context;
use super::connect::DEFAULT_DATA_DIR;
use super::exit::{Exit, Failure, Outcome};

#[derive(Debug, Args)]
pub struct BackupArgs {
    /// Where to; it must not exist.
    file: PathBuf,
    /// The data directory; a running server may hold it.
    #[arg(long, value_name = "DIR", default_value = DEFAULT_DATA_DIR)]
    data_dir: PathBuf,
}

pub async fn run(args: BackupArgs, context: &Context) -> Outcome {
    if args.file.exists() {
        return Err(Failure::new(Exit::Usage, format_args!("{} exists", args.file.display()))
            .hint("give another name: a backup never replaces a file"));
    }
    if !args.data_dir.is_dir() {
        return Err(Failure::new(
            Exit::NotFound,
            format_args!("{} is no directory", args.data_dir.display()),
        )
        .hint("name the server's data directory with --data-dir"));
    }
    copy_store(&args).await?;
    context.output.note(&format!("wrote {}", args.file.display()));
    Ok(())
}

/// The one call into the store.
async fn copy_store(args: &BackupArgs) -> Outcome {
    Err(Failure::new(
        Exit::Failed,
        format_args!("{}: this build has no store to copy", args.data_dir.display()),
    )
    .hint("stop the server and copy the directory"))
}
