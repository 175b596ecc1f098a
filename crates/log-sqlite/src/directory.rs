//! The data directory: its lock, its modes, its files.
//!
//! ```text
//! DIR/            0700
//!   lock          held exclusively as long as the engine is open
//!   log.db        0600; beside it log.db-wal (made full-size at once) and log.db-shm
//!   reserve       space that is given back when the disk is full
//! ```

use std::fs::{DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use riverrun_log::seeded::{self, Bug};
use rustix::fs::FallocateFlags;

use crate::OpenError;
use crate::schema::FORMAT;
use crate::wal;

/// The name of the store in its directory. A backup is opened by putting it there.
pub const STORE: &str = "log.db";

/// What a SQLite file begins with.
const SQLITE_MAGIC: &[u8; 16] = b"SQLite format 3\0";

pub struct Directory {
    path: PathBuf,
    /// Unlocked by the operating system when the process ends, however it ends.
    _lock: File,
}

impl Directory {
    /// Makes the directory if need be and locks it.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let io = |action| move |error| OpenError::Io { action, path: path.to_owned(), error };
        let made = !path.exists();
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(io("make the directory"))?;
        std::fs::set_permissions(path, Permissions::from_mode(0o700)).map_err(io("set the mode of"))?;
        let lock = private().open(path.join("lock")).map_err(io("open the lock in"))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(OpenError::Locked(path.to_owned())),
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

    fn wal(&self) -> PathBuf {
        self.path.join(format!("{STORE}-wal"))
    }

    fn reserve(&self) -> PathBuf {
        self.path.join("reserve")
    }

    /// Creates the store's file with the right mode, or checks that what is there is ours to open. The check reads
    /// bytes only: opening a store of a newer version, even to ask its version, could change it.
    pub fn prepare_store(&self) -> Result<(), OpenError> {
        let path = self.store();
        let io = |action| {
            let path = path.clone();
            move |error| OpenError::Io { action, path, error }
        };
        let mut file = private().open(&path).map_err(io("open"))?;
        let mut header = Vec::new();
        Read::by_ref(&mut file).take(HEADER as u64).read_to_end(&mut header).map_err(io("read"))?;
        check_header(&header, &path)?;
        std::fs::set_permissions(&path, Permissions::from_mode(0o600)).map_err(io("set the mode of"))?;
        file.sync_all().map_err(io("sync"))
    }

    /// Looks at the write-ahead file before anybody opens the store, which would drop what does not fit.
    pub fn inspect_wal(&self, full_size: u64) -> Result<wal::Findings, OpenError> {
        let path = self.wal();
        let found = wal::inspect(&path, full_size);
        let mut found = found.map_err(|error| OpenError::Io { action: "read", path: path.clone(), error })?;
        match found.damage.take() {
            Some(what) => Err(OpenError::Damaged { path, what }),
            None => Ok(found),
        }
    }

    /// Extends the write-ahead file with zeros. They end its recovery as a missing file would, and writing over
    /// them costs no metadata, which is most of what a sync of a growing file costs.
    pub fn grow_wal(&self, bytes: u64) -> Result<(), OpenError> {
        let path = self.wal();
        let grown = private().open(&path).and_then(|mut file| {
            let zeros = vec![0; 1 << 20];
            let mut length = file.seek(SeekFrom::End(0))?;
            while length < bytes {
                let part = usize::try_from((bytes - length).min(1 << 20)).unwrap_or(1 << 20);
                file.write_all(&zeros[..part])?;
                length += part as u64;
            }
            file.sync_all()
        });
        match grown {
            // A disk that is full now may have room later; commits say so themselves.
            Err(error) if error.kind() != ErrorKind::StorageFull => {
                Err(OpenError::Io { action: "grow", path, error })
            }
            Ok(()) | Err(_) => self.sync(),
        }
    }

    /// Makes the names of new files durable.
    fn sync(&self) -> Result<(), OpenError> {
        if seeded::is_on(Bug::NoDirectoryFsync) {
            return Ok(());
        }
        let io = |error| OpenError::Io { action: "sync", path: self.path.clone(), error };
        sync_directory(&self.path).map_err(io)
    }

    /// Sets space aside. False if the disk has none.
    pub fn take_reserve(&self, bytes: u64) -> bool {
        if bytes == 0 {
            return true;
        }
        let Ok(file) = private().open(self.reserve()) else { return false };
        let kept = match rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, bytes) {
            // Some file systems cannot set space aside; then there is simply no reserve.
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) | Ok(()) => true,
            Err(_) => false,
        };
        if !kept {
            self.give_reserve();
        }
        kept
    }

    pub fn give_reserve(&self) {
        let _ = std::fs::remove_file(self.reserve());
    }

    /// What the store's files take.
    pub fn bytes(&self) -> u64 {
        let size = |path: PathBuf| std::fs::metadata(path).map_or(0, |data| data.len());
        size(self.store()) + size(self.wal())
    }
}

/// The places of SQLite's header that tell whose file it is.
const HEADER: usize = 100;
const USER_VERSION: usize = 60;

fn check_header(header: &[u8], path: &Path) -> Result<(), OpenError> {
    if header.is_empty() {
        return Ok(());
    }
    if header.len() < HEADER || !header.starts_with(SQLITE_MAGIC) {
        return Err(OpenError::Foreign(path.to_owned()));
    }
    let version = [0, 1, 2, 3].map(|n| header[USER_VERSION + n]);
    let found = i64::from(u32::from_be_bytes(version));
    if found > FORMAT {
        return Err(OpenError::NewerFormat { path: path.to_owned(), found, supported: FORMAT });
    }
    Ok(())
}

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
