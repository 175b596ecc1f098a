//! The embedded store, opened with errors that name the fix.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use riverrun_log_sqlite::{OpenLogError, SqliteLog, SqliteOptions};

use super::exit::{Exit, Failure, Outcome};

/// Opens the store of a data directory. `on_fatal` is called when it fails for good.
pub fn open(data_dir: &Path, on_fatal: Option<riverrun_log_sqlite::OnFatal>) -> Outcome<Arc<SqliteLog>> {
    open_with(SqliteOptions { on_fatal, ..SqliteOptions::new(data_dir) })
}

pub fn open_with(options: SqliteOptions) -> Outcome<Arc<SqliteLog>> {
    SqliteLog::open(options).map(Arc::new).map_err(|error| failure(&error))
}

/// The directory is the wrong one, rather than the disk.
fn is_misplaced(kind: ErrorKind) -> bool {
    use ErrorKind::{AlreadyExists, NotADirectory, PermissionDenied, ReadOnlyFilesystem};
    matches!(kind, AlreadyExists | NotADirectory | PermissionDenied | ReadOnlyFilesystem)
}

fn failure(error: &OpenLogError) -> Failure {
    let (exit, hint) = match error {
        OpenLogError::Locked(_) => {
            (Exit::Locked, "stop the other `riverrun serve`, or give this one another --data-dir")
        }
        OpenLogError::NewerFormat { .. } => {
            (Exit::NewerFormat, "use the version of riverrun that wrote it, or a newer one")
        }
        OpenLogError::Foreign(_) => {
            (Exit::NewerFormat, "name a directory of Riverrun's, or an empty one, with --data-dir")
        }
        OpenLogError::Damaged { .. } => (
            Exit::Corrupt,
            "put the file back, or restore a backup; or run `riverrun serve --accept-loss` once to go on without what is missing",
        ),
        OpenLogError::Io { error, .. } if is_misplaced(error.kind()) => (
            Exit::Config,
            "name a directory that this user may write to with --data-dir or `server.data_dir`",
        ),
        OpenLogError::Io { .. } => {
            (Exit::Io, "check that the directory is on a writable disk with free space")
        }
        OpenLogError::Store(_) => {
            (Exit::Io, "run `riverrun doctor --data-dir DIR`; restore a backup if it is damaged")
        }
    };
    Failure::new(exit, error).hint(hint)
}
