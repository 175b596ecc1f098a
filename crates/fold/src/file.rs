//! Files that came with a turn's input: which were read, and what became of them.

use riverrun_event::{BlobRef, ErrorInfo};
use serde::{Deserialize, Serialize};

use crate::status::Status;

/// Files of one turn that the state holds; the log has those beyond it.
pub(crate) const MOST_FILES: usize = 100;

/// A file of a turn, as its events describe it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TurnFile {
    /// The file.
    pub file_id: String,
    /// `running`, `completed` or `failed`.
    pub status: Status,
    /// The files that were announced up to this one and together with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// `input`, `history`, `steer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Where it was fetched from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Its detected type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// Its bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Its pages, in a document that has pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pages: Option<u32>,
    /// `native` or `text`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handling: Option<String>,
    /// The whole extracted text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_ref: Option<BlobRef>,
    /// True if only the beginning of its text was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
    /// Why it could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorInfo>,
}
