//! Files and directories as the engine makes them: private to their owner, durable when it says so.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// Makes the names of the files in a directory durable.
pub fn sync_directory(path: &Path) -> std::io::Result<()> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    File::open(path)?.sync_all()
}

/// Opens for reading and writing, making the file for its owner's eyes only.
pub fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    options
}

/// Zeros end the recovery of the file as its end would, and writing over them costs no metadata.
pub fn extend(file: &File, from: u64, to: u64) -> std::io::Result<()> {
    let zeros = vec![0; 1 << 20];
    let mut offset = from;
    while offset < to {
        let part = usize::try_from(to - offset).unwrap_or(usize::MAX).min(zeros.len());
        file.write_all_at(&zeros[..part], offset)?;
        offset += part as u64;
    }
    Ok(())
}
