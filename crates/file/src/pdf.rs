//! The text of a PDF, page by page.
//!
//! Every stream that is unpacked has a limit of its own, the parser's nesting is bounded, and the tree of pages is
//! walked for at most as many steps as the file has objects, so a tree that leads back to itself ends.

use std::collections::BTreeMap;

use lopdf::content::{Content, Operation};
use lopdf::{DecompressError, Document, Encoding, LoadOptions, Object, ObjectId};

use crate::FileText;
use crate::error::{FileError, FileErrorCode};
use crate::read::{Deadline, ReadFile, ReadLimits};
use crate::sink::TextSink;

/// What one stream may unpack to while the file is opened.
const OBJECTS: usize = 16 << 20;
/// What the content of one page may unpack to, and the table of one font.
const PAGE: usize = 8 << 20;
const FONT: usize = 1 << 20;
/// Fonts of a page; a document has a dozen.
const MOST_FONTS: usize = 64;
/// Operations between two looks at the clock.
const ROUND: usize = 4096;
/// A gap in a line of text that is as wide as a space, in thousandths of the font's size.
const SPACE: f32 = -180.0;

pub(crate) fn read(bytes: &[u8], limits: &ReadLimits, deadline: &Deadline) -> Result<ReadFile, FileError> {
    let document = open(bytes)?;
    let pages: Vec<ObjectId> = document.page_iter().collect();
    if pages.is_empty() {
        return Err(FileError::damaged("the PDF has no pages"));
    }
    let mut sink = TextSink::new(limits.text);
    let most = usize::try_from(limits.pages).unwrap_or(usize::MAX);
    let mut is_broken = false;
    for page in pages.iter().take(most) {
        deadline.check()?;
        match page_text(&document, *page, &mut sink, deadline) {
            Ok(()) => {}
            Err(PageError::File(error)) => return Err(error),
            Err(PageError::Broken) => is_broken = true,
        }
        sink.line();
        if sink.is_full() {
            break;
        }
    }
    let count = u32::try_from(pages.len()).ok();
    let (text, is_cut) = sink.into_text();
    match text.is_empty() {
        true if is_broken => Err(FileError::damaged("the pages of the PDF are damaged")),
        true => {
            let message = format!("none of the PDF's {} pages has text; they may be scanned", pages.len());
            Err(FileError::new(FileErrorCode::NoText, message))
        }
        false => {
            let is_cut = is_cut || pages.len() > most;
            Ok(ReadFile { pages: count, text: Some(FileText { text, is_cut }) })
        }
    }
}

pub(crate) fn count(bytes: &[u8]) -> Result<u32, FileError> {
    let pages = open(bytes)?.page_iter().count();
    Ok(u32::try_from(pages).unwrap_or(u32::MAX))
}

fn open(bytes: &[u8]) -> Result<Document, FileError> {
    let options = LoadOptions::with_max_decompressed_size(OBJECTS);
    let document = Document::load_mem_with_options(bytes, options);
    let encrypted = || FileError::new(FileErrorCode::Encrypted, "the PDF is encrypted and needs a password");
    match document {
        Ok(document) if document.is_encrypted() => Err(encrypted()),
        Ok(document) => Ok(document),
        Err(lopdf::Error::InvalidPassword | lopdf::Error::Decryption(_)) => Err(encrypted()),
        Err(lopdf::Error::Decompress(error)) => Err(unpacked(&error)),
        Err(error) => Err(FileError::damaged(format!("the PDF is damaged: {error}"))),
    }
}

fn unpacked(error: &DecompressError) -> FileError {
    match error {
        DecompressError::MemoryLimitExceeded { limit } => {
            let message = format!("a stream of the PDF unpacks to more than {limit} bytes");
            FileError::new(FileErrorCode::TooLarge, message)
        }
        error => FileError::damaged(format!("a stream of the PDF is damaged: {error}")),
    }
}

enum PageError {
    /// Nothing more of the file is read.
    File(FileError),
    /// The page has no text that can be read.
    Broken,
}

impl From<lopdf::Error> for PageError {
    fn from(error: lopdf::Error) -> Self {
        match error {
            lopdf::Error::Decompress(error @ DecompressError::MemoryLimitExceeded { .. }) => {
                PageError::File(unpacked(&error))
            }
            _ => PageError::Broken,
        }
    }
}

fn page_text(
    document: &Document,
    page: ObjectId,
    sink: &mut TextSink,
    deadline: &Deadline,
) -> Result<(), PageError> {
    let fonts = document.get_page_fonts(page)?;
    let mut encodings = BTreeMap::new();
    for (name, font) in fonts.into_iter().take(MOST_FONTS) {
        deadline.check().map_err(PageError::File)?;
        match font.get_font_encoding_with_limit(document, FONT) {
            Ok(encoding) => drop(encodings.insert(name, encoding)),
            Err(error) => match PageError::from(error) {
                PageError::File(error) => return Err(PageError::File(error)),
                PageError::Broken => {}
            },
        }
    }
    let content = document.get_page_content_with_limit(page, PAGE)?;
    let mut writer = Writer { sink, encodings: &encodings, font: None, line: None };
    for (round, operation) in Content::decode_iter(&content).enumerate() {
        if round.is_multiple_of(ROUND) {
            deadline.check().map_err(PageError::File)?;
        }
        if writer.sink.is_full() {
            return Ok(());
        }
        // What stands before the damage is text all the same.
        let Ok(operation) = operation else { return Err(PageError::Broken) };
        writer.operation(&operation);
    }
    Ok(())
}

/// Shows the text of a page in the order in which the page draws it.
struct Writer<'a> {
    sink: &'a mut TextSink,
    encodings: &'a BTreeMap<Vec<u8>, Encoding<'a>>,
    font: Option<&'a Encoding<'a>>,
    /// The height of the line that is written.
    line: Option<f32>,
}

impl Writer<'_> {
    fn operation(&mut self, operation: &Operation) {
        let operands = &operation.operands;
        let number = |at: usize| operands.get(at).and_then(|operand| operand.as_float().ok());
        match operation.operator.as_str() {
            "Tf" => {
                let name = operands.first().and_then(|name| name.as_name().ok());
                self.font = name.and_then(|name| self.encodings.get(name));
            }
            "Td" | "TD" if number(1).is_some_and(|down| down == 0.0) => self.sink.push_flowing(" "),
            "Td" | "TD" | "T*" | "ET" => self.sink.line(),
            "Tm" => {
                let height = number(5);
                if height != self.line {
                    self.sink.line()
                } else {
                    self.sink.push_flowing(" ")
                }
                self.line = height;
            }
            "'" => {
                self.sink.line();
                operands.iter().for_each(|operand| self.show(operand));
            }
            "\"" => {
                self.sink.line();
                operands.iter().skip(2).for_each(|operand| self.show(operand));
            }
            "Tj" | "TJ" => operands.iter().for_each(|operand| self.show(operand)),
            _ => {}
        }
    }

    fn show(&mut self, operand: &Object) {
        match operand {
            Object::String(bytes, _) => {
                let text = self.font.and_then(|font| Document::decode_text(font, bytes).ok());
                let is_shown = |c: &char| !c.is_control() || c.is_whitespace();
                self.sink.push(&text.unwrap_or_default().chars().filter(is_shown).collect::<String>());
            }
            // A list of lists shows nothing.
            Object::Array(parts) => {
                for part in parts.iter().filter(|part| !matches!(part, Object::Array(_))) {
                    self.show(part);
                }
            }
            Object::Integer(_) | Object::Real(_) if operand.as_float().is_ok_and(|gap| gap < SPACE) => {
                self.sink.push_flowing(" ");
            }
            _ => {}
        }
    }
}
