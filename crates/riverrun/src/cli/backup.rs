//! `riverrun backup FILE`.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use riverrun_client::Client;
use riverrun_log::Maintenance;

use super::Context;
use super::connect::DEFAULT_DATA_DIR;
use super::exit::{Exit, Failure, Outcome};
use super::progress::Progress;

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
            let (size, file) = (size_of(&args.data_dir), args.file.clone());
            let progress = Progress::new(context.output, "copying");
            let copied = progress.during(log.backup(&args.file), || (length(&file), size)).await;
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
    let (size, began) = (size_of(&args.data_dir), std::time::SystemTime::now());
    let copies = args.data_dir.join("backups");
    let progress = Progress::new(context.output, "copying");
    let backup = progress.during(client.back_up(), || (newest(&copies, began), size)).await?;
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

/// The bytes of the store in a data directory.
fn size_of(directory: &Path) -> Option<u64> {
    let files = fs::read_dir(directory).ok()?.flatten().map(|entry| entry.path());
    let of_store = files.filter(|path| path.extension().is_some_and(|ending| ending == "db"));
    Some(of_store.map(|path| length(&path)).sum())
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// The bytes of the copy that was begun since.
fn newest(directory: &Path, since: std::time::SystemTime) -> u64 {
    let files = fs::read_dir(directory).into_iter().flatten().flatten();
    let new = files
        .filter_map(|entry| entry.metadata().ok())
        .filter(|file| file.is_file() && file.modified().is_ok_and(|changed| changed >= since));
    new.map(|file| file.len()).max().unwrap_or(0)
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
