//! One file, read within its limits.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::error::{FileError, FileErrorCode};
use crate::kind::{FileKind, FileType};
use crate::{docx, html, pdf, text};

/// How much of a file is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadLimits {
    /// Bytes of text that come out of it; the rest is left out and said to be.
    pub text: usize,
    /// Pages of a PDF; the rest is left out and said to be.
    pub pages: u32,
    /// Bytes that the parts of an archive may unpack to.
    pub unpacked: usize,
    pub time: Duration,
}

impl Default for ReadLimits {
    fn default() -> Self {
        Self { text: 256 << 10, pages: 500, unpacked: 64 << 20, time: Duration::from_secs(20) }
    }
}

/// What is known of a file beside its bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Hints<'a> {
    /// The charset that its server named.
    pub charset: Option<&'a str>,
}

/// What was read of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadFile {
    pub pages: Option<u32>,
    pub text: Option<FileText>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FileText {
    pub text: String,
    /// True if a limit left the rest out.
    pub is_cut: bool,
}

/// Takes the text out of a file. A failure of a parser's code is an error like any other.
pub fn read(
    bytes: &[u8],
    file_type: &FileType,
    hints: Hints<'_>,
    limits: &ReadLimits,
) -> Result<ReadFile, FileError> {
    caught(|| read_by_kind(bytes, file_type, hints, limits))
}

/// Counts the pages of a file without reading their text. None for what has no pages.
pub fn count(bytes: &[u8], file_type: &FileType) -> Result<Option<u32>, FileError> {
    caught(|| match file_type.kind {
        FileKind::Pdf => pdf::count(bytes).map(Some),
        FileKind::Docx => Ok(docx::count(bytes)),
        FileKind::Html
        | FileKind::Text
        | FileKind::Image
        | FileKind::Audio
        | FileKind::Video
        | FileKind::Other => Ok(None),
    })
}

fn caught<T>(reads: impl FnOnce() -> Result<T, FileError>) -> Result<T, FileError> {
    catch_unwind(AssertUnwindSafe(reads)).unwrap_or_else(|_| {
        Err(FileError::new(FileErrorCode::Crashed, "the code that reads such files failed on this one"))
    })
}

fn read_by_kind(
    bytes: &[u8],
    file_type: &FileType,
    hints: Hints<'_>,
    limits: &ReadLimits,
) -> Result<ReadFile, FileError> {
    let deadline = Deadline::after(limits.time);
    let read = match file_type.kind {
        FileKind::Pdf => pdf::read(bytes, limits, &deadline)?,
        FileKind::Docx => docx::read(bytes, limits, &deadline)?,
        FileKind::Html => {
            let page = text::decode(bytes, hints.charset);
            let read = html::text(&page, limits.text, || deadline.check().is_err());
            let (text, is_cut) = read.ok_or_else(|| deadline.passed())?;
            ReadFile { pages: None, text: Some(FileText { text, is_cut }) }
        }
        FileKind::Text => {
            let (text, is_cut) = text::read(bytes, hints.charset, limits.text);
            ReadFile { pages: None, text: Some(FileText { text, is_cut }) }
        }
        FileKind::Image | FileKind::Audio | FileKind::Video | FileKind::Other => {
            let message = format!("no text can be taken out of a file of type {}", file_type.media_type);
            return Err(FileError::new(FileErrorCode::Unsupported, message));
        }
    };
    match &read.text {
        Some(text) if text.text.trim().is_empty() => {
            Err(FileError::new(FileErrorCode::NoText, "the file has no text"))
        }
        Some(_) | None => Ok(read),
    }
}

/// When reading must have ended.
pub(crate) struct Deadline {
    at: Instant,
    time: Duration,
}

impl Deadline {
    fn after(time: Duration) -> Self {
        Self { at: Instant::now() + time, time }
    }

    pub fn check(&self) -> Result<(), FileError> {
        if Instant::now() < self.at { Ok(()) } else { Err(self.passed()) }
    }

    fn passed(&self) -> FileError {
        FileError::new(FileErrorCode::Timeout, format!("the file was not read within {:?}", self.time))
    }
}
