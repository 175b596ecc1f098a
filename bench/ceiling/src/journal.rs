//! The preallocated write-ahead file, or none.

use std::fs::File;
use std::io::{Result, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

pub struct CeilingJournal {
    file: Option<File>,
    pub(crate) written: AtomicU64,
    pub(crate) events: AtomicU64,
}

impl CeilingJournal {
    pub fn memory() -> Self {
        Self { file: None, written: AtomicU64::new(0), events: AtomicU64::new(0) }
    }

    /// Opens the file and fills it with zeros up to `size`: a sync into a growing file also
    /// commits metadata, which is twenty times slower.
    pub fn open(path: &Path, size: u64) -> Result<Self> {
        let mut file = File::options().read(true).append(true).create(true).open(path)?;
        let zeros = vec![0; 1 << 20];
        let missing = size.saturating_sub(file.metadata()?.len());
        for _ in 0..missing.div_ceil(zeros.len() as u64) {
            file.write_all(&zeros)?;
        }
        file.sync_all()?;
        let file = File::options().read(true).write(true).open(path)?;
        Ok(Self { file: Some(file), ..Self::memory() })
    }

    pub fn is_on_disk(&self) -> bool {
        self.file.is_some()
    }

    /// Bytes and events written since the start.
    pub fn size(&self) -> (u64, u64) {
        (self.written.load(Ordering::Relaxed), self.events.load(Ordering::Relaxed))
    }

    pub fn read(&self, offset: u64, length: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.file.as_ref()?.read_exact_at(&mut bytes, offset).ok()?;
        Some(bytes)
    }

    /// Durable once it returns, if there is a file.
    pub fn write(&self, bytes: &[u8], offset: u64) -> Result<()> {
        match &self.file {
            None => Ok(()),
            Some(file) => file.write_all_at(bytes, offset).and_then(|()| file.sync_data()),
        }
    }
}
