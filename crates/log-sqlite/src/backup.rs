//! A consistent copy while appends go on.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use riverrun_log::LogError;
use rusqlite::config::DbConfig;

use crate::connection;
use crate::failure::to_error;
use crate::file::sync_directory;

/// Copies the store to a new file. The copy is marked, so that whoever opens it becomes another incarnation.
pub fn run(store: &Path, to: &Path) -> Result<(), LogError> {
    let invalid = |error: std::io::Error| LogError::Invalid {
        what: format!("backup file `{}`: {error}", to.display()),
    };
    // Made here and not by SQLite, so that it is never readable by others and never overwrites anything.
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(to).map_err(invalid)?;
    let copied = copy(store, to).map_err(|error| to_error(&error));
    let synced = copied.and_then(|()| {
        let synced = File::open(to).and_then(|file| file.sync_all());
        synced.and_then(|()| sync_directory(to.parent().unwrap_or(Path::new(".")))).map_err(invalid)
    });
    if synced.is_err() {
        let _ = std::fs::remove_file(to);
    }
    synced
}

fn copy(store: &Path, to: &Path) -> rusqlite::Result<()> {
    let source = connection::open_reader(store)?;
    source.execute("VACUUM INTO ?1", [to.to_string_lossy()])?;
    drop(source);
    let copy = connection::connect(to)?;
    copy.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    copy.execute("DELETE FROM meta WHERE name = 'open'", [])?;
    copy.execute("INSERT OR REPLACE INTO meta (name, value) VALUES ('restored', 1)", [])?;
    Ok(())
}
