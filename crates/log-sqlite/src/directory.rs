//! The data directory: its lock, its modes, its files.
//!
//! ```text
//! DIR/            0700
//!   lock          held exclusively as long as the engine is open
//!   log.db        0600; beside it log.db-wal (made full-size at once) and log.db-shm
//!   witness       what was durable in these, see `durability_mark.rs`
//!   reserve       space that is given back when the disk is full
//!   reserve-last  a little more, given back when that was not enough to start or to delete
//! ```

use std::fs::{DirBuilder, File, Permissions, TryLockError};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use riverrun_log::seeded::{self, Bug};
use rustix::fs::FallocateFlags;

use crate::file::{extend, private, sync_directory};
use crate::format::{HEADER, check_header};
use crate::options::{OpenLogError, SqliteOptions};

/// The name of the store in its directory. A backup is opened by putting it there.
pub const STORE: &str = "log.db";

pub struct Directory {
    path: PathBuf,
    /// Unlocked by the operating system when the process ends, however it ends.
    _lock: File,
}

impl Directory {
    /// Makes the directory if need be and locks it.
    pub fn open(path: &Path) -> Result<Self, OpenLogError> {
        let io = |action| move |error| OpenLogError::Io { action, path: path.to_owned(), error };
        let made = !path.exists();
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(io("make the directory"))?;
        std::fs::set_permissions(path, Permissions::from_mode(0o700)).map_err(io("set the mode of"))?;
        let lock = private().open(path.join("lock")).map_err(io("open the lock in"))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(OpenLogError::Locked(path.to_owned())),
            Err(TryLockError::Error(error)) => return Err(io("lock")(error)),
        }
        if made && let Some(parent) = path.parent() {
            let _ = sync_directory(parent);
        }
        Ok(Self { path: path.to_owned(), _lock: lock })
    }

    pub fn store(&self) -> PathBuf {
        self.path.join(STORE)
    }

    pub fn wal(&self) -> PathBuf {
        self.path.join(format!("{STORE}-wal"))
    }

    pub fn durability_mark(&self) -> PathBuf {
        self.path.join("witness")
    }

    fn reserve(&self) -> PathBuf {
        self.path.join("reserve")
    }

    fn last_reserve(&self) -> PathBuf {
        self.path.join("reserve-last")
    }

    /// The size of the disk and its free space. None if the file system does not report them.
    fn disk(&self) -> Option<(u64, u64)> {
        let disk = rustix::fs::statvfs(&self.path).ok()?;
        let bytes = |blocks: u64| blocks.saturating_mul(disk.f_frsize);
        Some((bytes(disk.f_blocks), bytes(disk.f_bavail))).filter(|(size, _)| *size > 0)
    }

    /// True if the disk has less room than this.
    pub fn is_tight(&self, bytes: u64) -> bool {
        self.disk().is_some_and(|(_, free)| free < bytes)
    }

    /// The free space on the disk, as far as the file system reports it.
    pub fn free(&self) -> u64 {
        self.disk().map_or(u64::MAX, |(_, free)| free)
    }

    /// Fits what is set aside to the disk: on a small one the events need the room.
    ///
    /// When the disk fills up, the write-ahead file can have grown to twice its size, and by what one packing writes.
    /// All of it has to move into the store before commits find room in it again. What is kept back must be more than
    /// that.
    pub fn scale(&self, options: &mut SqliteOptions) {
        let Some((size, _)) = self.disk().filter(|_| !seeded::is_on(Bug::FixedReserve)) else { return };
        options.reserve_bytes = options.reserve_bytes.min(size / 8);
        options.wal_bytes = options.wal_bytes.min(size / 32).max(4096);
        options.live_bytes = options.live_bytes.min(usize::try_from(size / 32).unwrap_or(usize::MAX));
    }

    /// Checks that the store, if there is one, is ours to open. The check reads bytes only: opening a store of a newer
    /// version, even to ask its version, could change it.
    pub fn check_store(&self) -> Result<(), OpenLogError> {
        let path = self.store();
        let mut header = Vec::new();
        let read = File::open(&path).and_then(|file| file.take(HEADER as u64).read_to_end(&mut header));
        match read {
            Ok(_) => check_header(&header, &path),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(OpenLogError::Io { action: "read", path, error }),
        }
    }

    /// Creates the store's file with the right mode if there is none.
    pub fn prepare_store(&self) -> Result<(), OpenLogError> {
        let path = self.store();
        let io = |action| {
            let path = path.clone();
            move |error| OpenLogError::Io { action, path, error }
        };
        let file = private().open(&path).map_err(io("open"))?;
        std::fs::set_permissions(&path, Permissions::from_mode(0o600)).map_err(io("set the mode of"))?;
        file.sync_all().map_err(io("sync"))
    }

    /// Moves a file aside under a name that shows the reason, never over another file.
    pub fn put_aside(&self, path: &Path, why: &str) -> std::io::Result<()> {
        if path.exists() {
            std::fs::rename(path, free_name(path, why))?;
            sync_directory(&self.path)?;
        }
        Ok(())
    }

    /// Keeps what is there of a file, for whoever wants to look into it.
    pub fn keep_copy(&self, path: &Path, why: &str) -> std::io::Result<()> {
        if path.exists() {
            std::fs::copy(path, free_name(path, why))?;
        }
        Ok(())
    }

    /// Extends the write-ahead file with zeros, which takes most of the cost of a sync from every later commit.
    ///
    /// A disk without room for that and for `reserve` more bytes is left alone: commits need what there is.
    pub fn grow_wal(&self, bytes: u64, reserve: u64) -> Result<(), OpenLogError> {
        let path = self.wal();
        let grown = private().open(&path).and_then(|file| {
            let length = file.metadata()?.len();
            let needed = bytes.saturating_sub(length).saturating_add(reserve);
            if bytes > length && self.disk().is_some_and(|(_, free)| free < needed) {
                return Err(ErrorKind::StorageFull.into());
            }
            if let Err(error) = extend(&file, length, bytes) {
                // Half a file would keep the last bytes of the disk from the commits.
                file.set_len(length)?;
                return Err(error);
            }
            file.sync_all()
        });
        match grown {
            // A disk that is full now may have room later; commits say so themselves.
            Err(error) if error.kind() != ErrorKind::StorageFull => {
                Err(OpenLogError::Io { action: "grow", path, error })
            }
            Ok(()) | Err(_) => self.sync(),
        }
    }

    /// Makes the names of new files durable.
    pub fn sync(&self) -> Result<(), OpenLogError> {
        if seeded::is_on(Bug::NoDirectoryFsync) {
            return Ok(());
        }
        let io = |error| OpenLogError::Io { action: "sync", path: self.path.clone(), error };
        sync_directory(&self.path).map_err(io)
    }

    /// Sets space aside. False if the disk has none.
    pub fn take_reserve(&self, bytes: u64) -> bool {
        if bytes == 0 {
            return true;
        }
        if seeded::is_on(Bug::FixedReserve) {
            return set_aside(&self.reserve(), bytes);
        }
        let had_last = self.last_reserve().exists();
        let is_reserved = set_aside(&self.reserve(), bytes - bytes / 8) && self.take_last_reserve(bytes);
        if !is_reserved {
            self.give_reserve();
            if !had_last {
                // It was given back to whoever needs it now.
                let _ = std::fs::remove_file(self.last_reserve());
            }
        }
        is_reserved
    }

    /// Sets aside what a start or a delete on a full disk needs. False if the disk has no room.
    pub fn take_last_reserve(&self, bytes: u64) -> bool {
        bytes == 0 || set_aside(&self.last_reserve(), bytes / 8)
    }

    pub fn give_reserve(&self) {
        let _ = std::fs::remove_file(self.reserve());
    }

    /// Gives back all that was set aside. False if nothing was.
    pub fn give_last_reserve(&self) -> bool {
        let is_given = [self.reserve(), self.last_reserve()].map(|path| std::fs::remove_file(path).is_ok());
        is_given.contains(&true)
    }

    /// What the store's files take.
    pub fn bytes(&self) -> u64 {
        let size = |path: PathBuf| std::fs::metadata(path).map_or(0, |data| data.len());
        size(self.store()) + size(self.wal())
    }
}

/// False if the disk has no room.
fn set_aside(path: &Path, bytes: u64) -> bool {
    let Ok(file) = private().open(path) else { return false };
    match rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, bytes.max(1)) {
        // Some file systems cannot set space aside; then there is simply no reserve.
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) | Ok(()) => true,
        Err(_) => {
            let _ = std::fs::remove_file(path);
            false
        }
    }
}

fn free_name(path: &Path, why: &str) -> PathBuf {
    let name = |n: u32| PathBuf::from(format!("{}.{why}-{n}", path.display()));
    (1..).map(name).find(|name| !name.exists()).expect("not every number is taken")
}
