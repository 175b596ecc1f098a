//! Whether all that was durable is still there, asked before anything is opened or changed.
//!
//! ```text
//! durability mark ── lengths, commits ──▶ log.db, log.db-wal   whatever falls behind the mark was lost
//! marks of log.db ──────────────────────▶ log.db-wal           without it: an open store has a write-ahead file
//! ```

use std::path::{Path, PathBuf};

use crate::directory::Directory;
use crate::durability_mark::DurabilityMark;
use crate::marks::{self, Marks};
use crate::options::{OpenLogError, SqliteOptions};
use crate::wal::{self, Findings};

/// A store is whole pages.
const PAGE: u64 = 4096;

/// What a start learned about the files that it opens.
#[derive(Debug, Default)]
pub struct ExaminedFiles {
    pub wal: Findings,
    /// Where the mark goes on counting.
    pub count: u64,
    /// What was lost, if that was accepted.
    pub lost: Option<String>,
}

/// Refuses if something that was synced is not there, and then leaves everything as it is.
pub fn examine(directory: &Directory, options: &SqliteOptions) -> Result<ExaminedFiles, OpenLogError> {
    let io = |action, path: PathBuf| move |error| OpenLogError::Io { action, path, error };
    let (store, path) = (directory.store(), directory.wal());
    let mark = DurabilityMark::read(&directory.durability_mark())
        .map_err(io("read", directory.durability_mark()))?;
    let count = mark.map_or(0, |mark| mark.count);
    let header = directory.check_store();
    if let Err(OpenLogError::NewerFormat { .. }) = header {
        return header.map(|()| ExaminedFiles::default());
    }
    let is_readable = header.is_ok() && length(&store).unwrap_or(0).is_multiple_of(PAGE);
    let marks = if is_readable { marks::marks(&store) } else { Marks::default() };
    if marks.is_restored {
        // A backup was put here: what lies beside it is of the store that it replaces.
        directory.put_aside(&path, "replaced").map_err(io("move", path))?;
        return Ok(ExaminedFiles { count, ..ExaminedFiles::default() });
    }
    let shorter = mark.and_then(|mark| shorter(directory, &mark));
    let full_size = if mark.is_some() { 0 } else { options.wal_bytes };
    // A file that is known to be short is refused without reading the rest of it.
    let mut wal = if shorter.is_none() || options.accept_loss {
        wal::inspect(&path, full_size).map_err(io("read", path))?
    } else {
        Findings::default()
    };
    let Some((path, what)) = shorter.or_else(|| missing(directory, mark, &marks, &mut wal)) else {
        return header.map(|()| ExaminedFiles { wal, count, lost: None });
    };
    if !options.accept_loss {
        return Err(OpenLogError::Damaged { path, what });
    }
    directory.keep_copy(&directory.wal(), "damaged").map_err(io("copy", directory.wal()))?;
    // What lies behind the damage must not be taken for later commits.
    wal.has_remains = true;
    header.map(|()| ExaminedFiles { wal, count, lost: Some(format!("{}: {what}", path.display())) })
}

fn length(path: &Path) -> Option<u64> {
    std::fs::metadata(path).ok().map(|data| data.len())
}

/// The file that is shorter than it was, or gone.
fn shorter(directory: &Directory, mark: &DurabilityMark) -> Option<(PathBuf, String)> {
    let (store, wal) = (directory.store(), directory.wal());
    if let Some(what) = mark.missing_in_store(length(&store).unwrap_or(0)) {
        return Some((store, what));
    }
    mark.missing_length(length(&wal)).map(|what| (wal, what))
}

/// The file that lacks something, and what.
fn missing(
    directory: &Directory,
    mark: Option<DurabilityMark>,
    marks: &Marks,
    wal: &mut Findings,
) -> Option<(PathBuf, String)> {
    if length(&directory.store()).unwrap_or(0) == 0 && wal.state.generation.is_some() {
        return Some((directory.store(), "it is missing or empty, and has a write-ahead file".to_owned()));
    }
    let what = wal.damage.take().or_else(|| match mark {
        Some(mark) => mark.missing_commits(&wal.state),
        None => (marks.is_open && wal.state.generation.is_none())
            .then(|| "it is missing or empty, and the store was not closed".to_owned()),
    });
    what.map(|what| (directory.wal(), what))
}
