//! Payloads of files that come with an input.

use crate::catalogue::macros::payload;
use crate::catalogue::{BlobRef, ErrorInfo};

payload! {
    /// A file of an input, as it was announced, read, or not readable.
    FileProcessing {
        /// Names the file: the same source has the same id.
        file_id "file_id": String,
    } optional {
        /// The file's number among those of the turn, from 0.
        index: u32,
        /// The files of the turn that are announced together with this one and before it.
        count: u32,
        /// Where the file came from: `input`, `history`, `steer`.
        source: String,
        /// The file's name.
        name: String,
        /// Where the file is, without user name, query and fragment; of a data URL only its media type.
        url: String,
        /// The media type that the content shows.
        media_type "media_type": String,
        /// The media type that the sender or its server named, if it is another one.
        declared_media_type "declared_media_type": String,
        /// The size in bytes.
        size: u64,
        /// The number of pages.
        pages: u32,
        /// What the model gets: `native` (the file itself) or `text` (what was extracted).
        handling: String,
        /// The beginning of the extracted text.
        preview: String,
        /// The whole extracted text.
        output_ref "output_ref": BlobRef,
        /// Bytes of the extracted text.
        text_size "text_size": u64,
        /// True if the text was cut at a limit.
        truncated: bool,
        /// How long it took, in milliseconds.
        duration_ms "duration_ms": u64,
        /// Why the file could not be read.
        error: ErrorInfo,
    };
}
