//! `riverrun backup FILE`.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use riverrun_client::Client;
use riverrun_log::Log;

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
    copy_store(&args, context).await?;
    context.output.note(&format!("wrote {}", args.file.display()));
    Ok(())
}

/// A store that nobody holds is copied here; one that a server holds is copied by that server.
async fn copy_store(args: &BackupArgs, context: &Context) -> Outcome {
    match super::store::open(&args.data_dir, None) {
        Ok(log) => {
            context.output.note(&format!("copying {}", args.data_dir.display()));
            let copied = log.backup(&args.file).await;
            // The copy is whole already; closing only makes the next start quick.
            let _ = log.close().await;
            copied.map_err(|error| Failure::new(Exit::Io, error).hint("is there room for the copy?"))
        }
        Err(failure) if failure.exit == Exit::Locked => ask_server(args, context).await,
        Err(failure) => Err(failure),
    }
}

/// The server writes into its own directory; from there the copy moves to where it was wanted.
async fn ask_server(args: &BackupArgs, context: &Context) -> Outcome {
    let key = context.connect.key_in(&args.data_dir)?;
    let client = Client::new(&context.connect.url(), key.as_deref())?;
    context.output.note(&format!("{} is in use; its server makes the copy", args.data_dir.display()));
    let backup = client.back_up().await?;
    let made = args.data_dir.join("backups").join(&backup.file);
    if !made.is_file() {
        let what = format!("the server at {} made the copy elsewhere", context.connect.url());
        return Err(Failure::new(Exit::NotFound, what).hint(format_args!(
            "look for {} in its directory of backups; is it the server of {}?",
            backup.file,
            args.data_dir.display()
        )));
    }
    move_to(&made, &args.file).map_err(|error| {
        Failure::file(&args.file, &error).hint(format_args!("the copy is at {}", made.display()))
    })
}

/// Moves a file, to another disk too, and never over another one.
fn move_to(from: &Path, to: &Path) -> std::io::Result<()> {
    if fs::hard_link(from, to).is_err() {
        let mut target = fs::OpenOptions::new().write(true).create_new(true).open(to)?;
        target.set_permissions(fs::metadata(from)?.permissions())?;
        std::io::copy(&mut fs::File::open(from)?, &mut target)?;
        target.sync_all()?;
    }
    fs::remove_file(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_moves_and_replaces_nothing() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::write(&from, "copy").expect("our directory");
        move_to(&from, &to).expect("it moves");
        assert_eq!((from.exists(), fs::read_to_string(&to).ok().as_deref()), (false, Some("copy")));
        fs::write(&from, "another").expect("our directory");
        assert!(move_to(&from, &to).is_err());
        assert_eq!((from.exists(), fs::read_to_string(&to).ok().as_deref()), (true, Some("copy")));
    }
}
