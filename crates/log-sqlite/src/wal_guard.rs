//! Keeps the mark true while the log runs, and the write-ahead file ahead of its commits.
//!
//! The length of the write-ahead file is durable, and in the mark, before a commit in that length is acknowledged;
//! as the file is made full-size and reused, that costs a commit nothing. Which commits are in it is written every
//! second by the checkpointing thread, so that no commit waits for a second sync.

use std::fs::File;
use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::directory::Directory;
use crate::durability_mark::{DurabilityMark, Generation};
use crate::file::extend;
use crate::signal::lock;
use crate::wal;

pub struct WalGuard {
    file: File,
    wal: File,
    /// Open as long as the store is: closing a second handle would take away the locks that SQLite holds on the file.
    store: File,
    /// How much the write-ahead file grows when it must.
    step: u64,
    /// Frames of the write-ahead file, as reported by SQLite inside each commit.
    pub frames: Arc<AtomicU64>,
    /// The length of the write-ahead file that the mark has.
    made: AtomicU64,
    /// The disk had no room to grow the file a moment ago.
    is_full: AtomicBool,
    /// The last commit: never held while the disk is waited for.
    durable: Mutex<(Generation, u64)>,
    written: Mutex<DurabilityMark>,
}

impl WalGuard {
    /// Begins after the store was opened and its write-ahead file made, and before anything is acknowledged. `count`
    /// goes on from the mark that was there, `frames` are those that SQLite told of so far.
    pub fn start(
        directory: &Directory,
        count: u64,
        frames: Arc<AtomicU64>,
        step: u64,
    ) -> std::io::Result<Self> {
        let wal = File::options().read(true).write(true).open(directory.wal())?;
        let (made, generation) = (wal.metadata()?.len(), wal::generation(&wal)?.unwrap_or_default());
        let wal_guard = Self {
            file: DurabilityMark::make(&directory.durability_mark())?,
            wal,
            store: File::open(directory.store())?,
            step,
            durable: Mutex::new((generation, frames.load(Ordering::Relaxed))),
            frames,
            made: AtomicU64::new(made),
            is_full: AtomicBool::new(false),
            written: Mutex::new(DurabilityMark { count, is_open: true, ..DurabilityMark::default() }),
        };
        wal_guard.write(true)?;
        Ok(wal_guard)
    }

    /// How much of the write-ahead file holds commits, in bytes.
    pub fn length(&self) -> u64 {
        wal::end_of(self.frames.load(Ordering::Relaxed))
    }

    /// After each commit and before anybody hears of it, on the committing thread. On a full disk what was kept back
    /// is for what ends work, not for a longer file.
    pub fn committed(&self, is_disk_full: bool) -> std::io::Result<()> {
        let frames = self.frames.load(Ordering::Relaxed);
        *lock(&self.durable) = (wal::generation(&self.wal)?.unwrap_or_default(), frames);
        let (end, made) = (wal::end_of(frames), self.made.load(Ordering::Relaxed));
        if end > made || (end + self.step / 8 > made && !is_disk_full) {
            return self.grow(end > made, is_disk_full);
        }
        Ok(())
    }

    /// Makes the write-ahead file longer before a commit has to. If the disk has no room, what a commit took is noted.
    fn grow(&self, is_behind: bool, is_disk_full: bool) -> std::io::Result<()> {
        let length = self.wal.metadata()?.len();
        let grown = if is_disk_full || self.is_full.load(Ordering::Relaxed) {
            Err(ErrorKind::StorageFull.into())
        } else {
            extend(&self.wal, length, length + self.step)
        };
        match grown {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::StorageFull => {
                // The little room that there is belongs to the commits.
                self.is_full.store(true, Ordering::Relaxed);
                self.wal.set_len(length)?;
                if !is_behind {
                    return Ok(());
                }
            }
            Err(error) => return Err(error),
        }
        self.wal.sync_all()?;
        self.made.store(self.wal.metadata()?.len(), Ordering::Relaxed);
        self.write(true)
    }

    /// Writes down which commits are durable, if there are new ones.
    pub fn note(&self) -> std::io::Result<()> {
        self.is_full.store(false, Ordering::Relaxed);
        let written = *lock(&self.written);
        let is_new = *lock(&self.durable) != (written.generation, written.frames);
        if is_new { self.write(true) } else { Ok(()) }
    }

    /// The store holds everything and is about to be closed: its write-ahead file may go.
    pub fn close(&self) -> std::io::Result<()> {
        self.write(false)
    }

    fn write(&self, is_open: bool) -> std::io::Result<()> {
        let mut written = lock(&self.written);
        let (generation, frames) = *lock(&self.durable);
        let wal_bytes = self.made.load(Ordering::Relaxed);
        let store_bytes = self.store.metadata()?.len();
        if store_bytes != written.store_bytes {
            self.store.sync_all()?;
        }
        let next =
            DurabilityMark { count: written.count + 1, is_open, wal_bytes, store_bytes, generation, frames };
        next.write(&self.file)?;
        *written = next;
        Ok(())
    }
}
