//! Sorting what SQLite says: refused, full, or broken.

use riverrun_log::LogError;
use rusqlite::ErrorCode;
use rusqlite::ffi;

/// Why an operation inside a transaction stopped.
#[derive(Debug)]
pub enum TransactionFault {
    /// The operation was checked and refused before it wrote anything; the others of its group go on.
    Refused(LogError),
    /// The store stopped it; the whole group is undone.
    Store(rusqlite::Error),
}

impl From<LogError> for TransactionFault {
    fn from(error: LogError) -> Self {
        TransactionFault::Refused(error)
    }
}

impl From<rusqlite::Error> for TransactionFault {
    fn from(error: rusqlite::Error) -> Self {
        TransactionFault::Store(error)
    }
}

/// What a store's error means for the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// No space: nothing was stored, and it heals.
    Full,
    /// This group fails, for stored bytes that are damaged or a defect of ours; the next may be fine.
    Damaged,
    /// Writing or syncing failed. What the disk holds now is unknown until it is read again from the start.
    Fatal,
}

pub fn severity(error: &rusqlite::Error) -> Severity {
    match error.sqlite_error() {
        // The index of the write-ahead file is no durable data: failing to extend it is lack of space.
        Some(code) if code.extended_code == ffi::SQLITE_IOERR_SHMSIZE => Severity::Full,
        Some(code) => match code.code {
            ErrorCode::DiskFull => Severity::Full,
            ErrorCode::SystemIoFailure
            | ErrorCode::ReadOnly
            | ErrorCode::CannotOpen
            | ErrorCode::PermissionDenied
            | ErrorCode::NoLargeFileSupport
            | ErrorCode::FileLockingProtocolFailed => Severity::Fatal,
            // What is left are damaged pages and our own mistakes: they concern this group alone.
            _ => Severity::Damaged,
        },
        None => Severity::Damaged,
    }
}

pub fn to_error(error: &rusqlite::Error) -> LogError {
    match severity(error) {
        Severity::Full => LogError::Full,
        Severity::Damaged | Severity::Fatal => LogError::Failed(error.to_string()),
    }
}

impl TransactionFault {
    pub fn into_error(self) -> LogError {
        match self {
            TransactionFault::Refused(error) => error,
            TransactionFault::Store(error) => to_error(&error),
        }
    }
}
