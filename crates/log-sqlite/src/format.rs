//! Which files are ours to open: the marks in the header of a store.

use std::path::Path;

use crate::options::OpenLogError;

/// The newest format this version writes and reads. A number is never reused.
pub const FORMAT: i64 = 2;

/// "RIVR": says that a SQLite file is a Riverrun log.
pub const APPLICATION: i64 = 0x5249_5652;

/// What a SQLite file begins with.
const SQLITE_MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// The bytes of SQLite's header, and where in it the version is.
pub const HEADER: usize = 100;
const USER_VERSION: usize = 60;

/// Refuses the header of a file that is not a store, or is one of a newer version. An empty file is a new store.
pub fn check_header(header: &[u8], path: &Path) -> Result<(), OpenLogError> {
    if header.is_empty() {
        return Ok(());
    }
    if header.len() < HEADER || !header.starts_with(SQLITE_MAGIC) {
        return Err(OpenLogError::Foreign(path.to_owned()));
    }
    let version = [0, 1, 2, 3].map(|n| header[USER_VERSION + n]);
    let found = i64::from(u32::from_be_bytes(version));
    if found > FORMAT {
        return Err(OpenLogError::NewerFormat { path: path.to_owned(), found, supported: FORMAT });
    }
    Ok(())
}
