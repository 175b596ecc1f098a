//! What a store says of itself: whether it is a backup, and whether it was closed.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, params};

use crate::checkpoint::checkpoint;

/// What the store says of itself, without its write-ahead file. Nothing if it cannot be read alone.
#[derive(Debug, Default)]
pub struct Marks {
    /// It is a backup that nobody has opened yet.
    pub is_restored: bool,
    /// It was opened and not closed.
    pub is_open: bool,
}

pub fn marks(path: &Path) -> Marks {
    let path = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let Ok(alone) = Connection::open_with_flags(format!("file:{path}?immutable=1"), flags) else {
        return Marks::default();
    };
    let get = |name| {
        let sql = "SELECT value FROM meta WHERE name = ?1";
        alone.query_row(sql, params![name], |row| row.get::<_, i64>(0)).is_ok_and(|value| value != 0)
    };
    Marks { is_restored: get("restored"), is_open: get("open") }
}

/// Writes the mark that tells an open store from a closed one, also when it is found alone; so it goes into the store
/// itself at once.
pub fn mark_open(connection: &Connection, is_open: bool) -> rusqlite::Result<()> {
    let sql = "INSERT INTO meta (name, value) VALUES ('open', ?1) ON CONFLICT DO UPDATE SET value = ?1
               WHERE value <> ?1";
    if connection.execute(sql, [i64::from(is_open)])? > 0 {
        checkpoint(connection)?;
    }
    Ok(())
}
