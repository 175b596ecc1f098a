//! What a file is: its content decides, then its name, then what its sender called it.

use memchr::memmem;

/// How a file can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    Pdf,
    Docx,
    Html,
    /// Text that is passed on as it is: plain, Markdown, CSV, JSON, XML, source code.
    Text,
    Image,
    Audio,
    Video,
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileType {
    pub kind: FileKind,
    pub media_type: String,
}

const DOCX: &str = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
const XLSX: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
const PPTX: &str = "application/vnd.openxmlformats-officedocument.presentationml.presentation";
/// How much of a file is looked at to tell text from bytes, and what text it is.
const LOOKED_AT: usize = 4096;
/// A text that is shorter may have as many control characters as one of this length.
const SHORT: usize = 100;
/// A PDF may have something before its header, which ends within this.
const PDF_HEADER: usize = 1024;

/// Beginnings of files: where, what, the kind and the media type.
const SIGNATURES: &[(usize, &[u8], FileKind, &str)] = &[
    (0, b"\x89PNG\r\n\x1a\n", FileKind::Image, "image/png"),
    (0, b"\xff\xd8\xff", FileKind::Image, "image/jpeg"),
    (0, b"GIF87a", FileKind::Image, "image/gif"),
    (0, b"GIF89a", FileKind::Image, "image/gif"),
    (8, b"WEBP", FileKind::Image, "image/webp"),
    (0, b"II*\0", FileKind::Image, "image/tiff"),
    (0, b"MM\0*", FileKind::Image, "image/tiff"),
    (4, b"ftypheic", FileKind::Image, "image/heic"),
    (4, b"ftypmif1", FileKind::Image, "image/heif"),
    (4, b"ftypavif", FileKind::Image, "image/avif"),
    (8, b"WAVE", FileKind::Audio, "audio/wav"),
    (0, b"ID3", FileKind::Audio, "audio/mpeg"),
    (0, b"\xff\xfb", FileKind::Audio, "audio/mpeg"),
    (0, b"OggS", FileKind::Audio, "audio/ogg"),
    (0, b"fLaC", FileKind::Audio, "audio/flac"),
    (4, b"ftypM4A", FileKind::Audio, "audio/mp4"),
    (4, b"ftyp", FileKind::Video, "video/mp4"),
    (0, b"\x1a\x45\xdf\xa3", FileKind::Video, "video/webm"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", FileKind::Other, "application/x-ole-storage"),
    (0, b"\x1f\x8b", FileKind::Other, "application/gzip"),
    (0, b"7z\xbc\xaf\x27\x1c", FileKind::Other, "application/x-7z-compressed"),
    (0, b"Rar!", FileKind::Other, "application/vnd.rar"),
    (0, b"BZh", FileKind::Other, "application/x-bzip2"),
    (0, b"\x7fELF", FileKind::Other, "application/x-executable"),
];

/// Endings of names of text files.
const TEXT_ENDINGS: &[(&str, &str)] = &[
    ("csv", "text/csv"),
    ("tsv", "text/tab-separated-values"),
    ("md", "text/markdown"),
    ("markdown", "text/markdown"),
    ("json", "application/json"),
    ("jsonl", "application/x-ndjson"),
    ("ndjson", "application/x-ndjson"),
    ("xml", "application/xml"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("toml", "application/toml"),
];

/// Tells what a file is. `declared` is the media type that its sender named, with or without parameters.
pub fn detect(bytes: &[u8], name: Option<&str>, declared: Option<&str>) -> FileType {
    let of = |kind, media_type: &str| FileType { kind, media_type: media_type.to_owned() };
    if memmem::find(&bytes[..bytes.len().min(PDF_HEADER)], b"%PDF-").is_some() {
        return of(FileKind::Pdf, "application/pdf");
    }
    if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06") {
        return packed(bytes);
    }
    for (at, signature, kind, media_type) in SIGNATURES {
        if bytes.get(*at..).is_some_and(|remaining| remaining.starts_with(signature)) {
            return of(*kind, media_type);
        }
    }
    if is_text(bytes) { text(bytes, name, declared) } else { of(FileKind::Other, "application/octet-stream") }
}

/// Office files are ZIP archives whose members have names that nothing else has.
fn packed(bytes: &[u8]) -> FileType {
    let has = |name: &str| memmem::find(bytes, name.as_bytes()).is_some();
    let (kind, media_type) = if has("word/document") {
        (FileKind::Docx, DOCX)
    } else if has("xl/workbook") {
        (FileKind::Other, XLSX)
    } else if has("ppt/presentation") {
        (FileKind::Other, PPTX)
    } else {
        (FileKind::Other, "application/zip")
    };
    FileType { kind, media_type: media_type.to_owned() }
}

/// Text has no zero bytes and hardly any control characters, unless it begins with the mark of UTF-16.
fn is_text(bytes: &[u8]) -> bool {
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return true;
    }
    let head = &bytes[..bytes.len().min(LOOKED_AT)];
    let is_control = |byte: &&u8| matches!(**byte, 0x01..=0x08 | 0x0e..=0x1a | 0x1c..=0x1f | 0x7f);
    !head.contains(&0) && head.iter().filter(is_control).count() * 50 <= head.len().max(SHORT)
}

fn text(bytes: &[u8], name: Option<&str>, declared: Option<&str>) -> FileType {
    let head = crate::text::decode(&bytes[..bytes.len().min(LOOKED_AT)], None);
    let head = head.trim_start().to_ascii_lowercase();
    let ending = name.and_then(|name| name.rsplit_once('.')).map(|(_, ending)| ending.to_ascii_lowercase());
    let by_name = TEXT_ENDINGS.iter().find(|(known, _)| Some(*known) == ending.as_deref());
    let declared = declared.map(essence).filter(|declared| is_text_type(declared));
    let is_html = is_html(&head)
        || (by_name.is_none() && declared.as_deref() == Some("text/html"))
        || matches!(ending.as_deref(), Some("html" | "htm" | "xhtml"));
    if is_html {
        return FileType { kind: FileKind::Html, media_type: "text/html".to_owned() };
    }
    let media_type = match (by_name, declared) {
        (_, Some(declared)) if declared != "text/plain" => declared,
        (Some((_, media_type)), _) => (*media_type).to_owned(),
        (None, _) if head.starts_with("<svg") => "image/svg+xml".to_owned(),
        (None, _) if head.starts_with("<?xml") => "application/xml".to_owned(),
        (None, _) => "text/plain".to_owned(),
    };
    FileType { kind: FileKind::Text, media_type }
}

fn is_html(head: &str) -> bool {
    let mut remaining = head;
    // Comments may come first.
    while let Some(comment) = remaining.strip_prefix("<!--") {
        let Some((_, behind)) = comment.split_once("-->") else { return false };
        remaining = behind.trim_start();
    }
    ["<!doctype html", "<html", "<head", "<body"].iter().any(|opening| remaining.starts_with(opening))
}

fn is_text_type(media_type: &str) -> bool {
    let known = ["json", "xml", "yaml", "toml", "x-ndjson", "javascript", "sql"];
    media_type.starts_with("text/")
        || media_type
            .strip_prefix("application/")
            .is_some_and(|kind| known.contains(&kind) || kind.ends_with("+json") || kind.ends_with("+xml"))
}

/// The media type without its parameters.
pub(crate) fn essence(media_type: &str) -> String {
    media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}
