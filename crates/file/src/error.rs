//! Why a file gives no text.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct FileError {
    pub code: FileErrorCode,
    pub message: String,
}

/// Stable names; a name is never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileErrorCode {
    Empty,
    /// No text can be taken out of files of this type.
    Unsupported,
    Encrypted,
    Damaged,
    /// It has no text: scanned pages, or pictures alone.
    NoText,
    /// It unpacks to more than may be unpacked.
    TooLarge,
    Timeout,
    /// The code that reads it failed.
    Crashed,
}

impl FileErrorCode {
    pub const fn as_str(self) -> &'static str {
        match self {
            FileErrorCode::Empty => "empty",
            FileErrorCode::Unsupported => "unsupported",
            FileErrorCode::Encrypted => "encrypted",
            FileErrorCode::Damaged => "damaged",
            FileErrorCode::NoText => "no_text",
            FileErrorCode::TooLarge => "too_large",
            FileErrorCode::Timeout => "timeout",
            FileErrorCode::Crashed => "crashed",
        }
    }
}

impl FileError {
    pub(crate) fn new(code: FileErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    pub(crate) fn damaged(message: impl Into<String>) -> Self {
        Self::new(FileErrorCode::Damaged, message)
    }
}
