//! How an engine is opened, and why it could not be.

use std::path::PathBuf;
use std::sync::Arc;

use riverrun_event::ErrorCode;
use riverrun_log::{Clock, Random, SystemClock};

/// Called once, from the committing thread, when the store fails for good. The process should exit and recover from
/// disk.
pub type OnFatal = Arc<dyn Fn(&str) + Send + Sync>;

/// How to open a data directory.
#[derive(Clone)]
pub struct SqliteOptions {
    pub directory: PathBuf,
    pub clock: Arc<dyn Clock>,
    /// Makes a restored backup another incarnation. None takes the operating system's.
    pub random: Option<Arc<dyn Random>>,
    pub on_fatal: Option<OnFatal>,
    /// Space kept back so that deletes and cancels work on a full disk.
    pub reserve_bytes: u64,
    /// The write-ahead file is made this large at once and then reused, so that commits do not grow it.
    pub wal_bytes: u64,
    /// Chunks that are not packed yet stay in memory; above this many bytes the older half is packed.
    pub live_bytes: usize,
    /// The store takes no more than this; beyond, it answers as a full disk does. None: the disk is the limit.
    pub max_bytes: Option<u64>,
    /// Open also if commits that were synced are missing. What is left is another history from then on.
    pub accept_loss: bool,
    /// Threads that answer reads which need the disk.
    pub readers: usize,
}

impl SqliteOptions {
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            clock: Arc::new(SystemClock),
            random: None,
            on_fatal: None,
            reserve_bytes: 64 << 20,
            wal_bytes: 16 << 20,
            live_bytes: 32 << 20,
            max_bytes: None,
            accept_loss: false,
            readers: 2,
        }
    }
}

/// Why a data directory could not be opened. Nothing in it was changed.
#[derive(Debug, thiserror::Error)]
pub enum OpenLogError {
    #[error("the data directory `{0}` is in use by another process")]
    Locked(PathBuf),
    #[error("the data directory `{path}` has format {found}, this version reads up to {supported}")]
    NewerFormat { path: PathBuf, found: i64, supported: i64 },
    #[error("`{0}` is not a Riverrun log")]
    Foreign(PathBuf),
    /// Opening it would drop commits that were synced. Everything is left as it is; see [`SqliteOptions::accept_loss`].
    #[error("`{path}` is not as it was synced: {what}")]
    Damaged { path: PathBuf, what: String },
    #[error("cannot {action} `{path}`: {error}")]
    Io { action: &'static str, path: PathBuf, error: std::io::Error },
    #[error("the store cannot be read: {0}")]
    Store(#[from] rusqlite::Error),
}

impl OpenLogError {
    pub const fn code(&self) -> ErrorCode {
        match self {
            OpenLogError::Locked(_) => ErrorCode::NotOwner,
            OpenLogError::Foreign(_) | OpenLogError::NewerFormat { .. } | OpenLogError::Damaged { .. } => {
                ErrorCode::LogCorrupt
            }
            OpenLogError::Io { .. } | OpenLogError::Store(_) => ErrorCode::StorageFailed,
        }
    }

    /// What a process that cannot open its data directory exits with (docs/cli.md).
    pub const fn exit_code(&self) -> u8 {
        match self {
            OpenLogError::Locked(_) => 75,
            OpenLogError::Damaged { .. } => 9,
            OpenLogError::NewerFormat { .. } | OpenLogError::Foreign(_) => 65,
            OpenLogError::Io { .. } | OpenLogError::Store(_) => 74,
        }
    }
}
