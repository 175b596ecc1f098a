//! The text of a Word document: a ZIP archive with XML in it.
//!
//! Entities that a document declares itself are never expanded, and a document with a DTD is refused. What an archive
//! says about the sizes of its members is not believed: what is unpacked is counted.

use std::io::{BufRead, BufReader, Cursor, Read};

use quick_xml::Reader;
use quick_xml::events::Event;
use zip::ZipArchive;
use zip::result::ZipError;

use crate::error::{FileError, FileErrorCode};
use crate::read::{Deadline, ReadFile, ReadLimits};
use crate::sink::TextSink;

/// The parts with what a reader of the document sees, in order.
const PARTS: &[&str] = &["word/document.xml", "word/footnotes.xml", "word/endnotes.xml"];
const PROPERTIES: &str = "docProps/app.xml";
/// Members of an archive; an office file has hundreds at most.
const MOST_MEMBERS: usize = 10_000;
/// Events between two looks at the clock.
const ROUND: usize = 4096;

type Archive<'a> = ZipArchive<Cursor<&'a [u8]>>;

pub(crate) fn read(bytes: &[u8], limits: &ReadLimits, deadline: &Deadline) -> Result<ReadFile, FileError> {
    let mut archive = open(bytes)?;
    let pages = pages(&mut archive);
    let mut sink = TextSink::new(limits.text);
    let mut room = limits.unpacked;
    for (at, part) in PARTS.iter().enumerate() {
        let member = match archive.by_name(part) {
            Ok(member) => member,
            Err(ZipError::FileNotFound) if at > 0 => continue,
            Err(error) => return Err(damaged(&error)),
        };
        if member.encrypted() {
            return Err(FileError::new(FileErrorCode::Encrypted, "the document is encrypted"));
        }
        let mut counted = BufReader::new(member.take(room as u64 + 1));
        let found = paragraphs(&mut counted, &mut sink, deadline);
        let left = counted.into_inner().limit();
        if left == 0 && !sink.is_full() {
            let message = format!("the document unpacks to more than {} bytes", limits.unpacked);
            return Err(FileError::new(FileErrorCode::TooLarge, message));
        }
        found?;
        room = usize::try_from(left.saturating_sub(1)).unwrap_or(0);
    }
    let (text, is_cut) = sink.into_text();
    Ok(ReadFile { pages, text: Some(crate::FileText { text, is_cut }) })
}

pub(crate) fn count(bytes: &[u8]) -> Option<u32> {
    pages(&mut open(bytes).ok()?)
}

fn open(bytes: &[u8]) -> Result<Archive<'_>, FileError> {
    let archive = ZipArchive::new(Cursor::new(bytes)).map_err(|error| damaged(&error))?;
    if archive.len() > MOST_MEMBERS {
        return Err(FileError::damaged(format!("the archive has more than {MOST_MEMBERS} members")));
    }
    Ok(archive)
}

fn damaged(error: &ZipError) -> FileError {
    FileError::damaged(format!("the document is damaged: {error}"))
}

/// The number of pages when the document was last saved, as its program counted them.
fn pages(archive: &mut Archive<'_>) -> Option<u32> {
    const MOST: u64 = 64 << 10;
    let mut properties = String::new();
    archive.by_name(PROPERTIES).ok()?.take(MOST).read_to_string(&mut properties).ok()?;
    let (_, behind) = properties.split_once("<Pages>")?;
    behind.split_once('<')?.0.trim().parse().ok()
}

fn paragraphs(part: &mut impl BufRead, sink: &mut TextSink, deadline: &Deadline) -> Result<(), FileError> {
    let mut reader = Reader::from_reader(part);
    let (mut buffer, mut is_text) = (Vec::new(), false);
    for round in 0_usize.. {
        if round.is_multiple_of(ROUND) {
            deadline.check()?;
        }
        buffer.clear();
        let event = reader.read_event_into(&mut buffer);
        let event =
            event.map_err(|error| FileError::damaged(format!("the document's XML is damaged: {error}")));
        match event? {
            Event::Eof => break,
            _ if sink.is_full() => break,
            Event::DocType(_) => return Err(FileError::damaged("the document's XML declares a DTD")),
            Event::Start(tag) => {
                is_text = tag.local_name().as_ref() == "t";
                opened(tag.local_name().as_ref(), sink);
            }
            Event::Empty(tag) => opened(tag.local_name().as_ref(), sink),
            Event::End(tag) => {
                is_text = false;
                match tag.local_name().as_ref() {
                    "p" => sink.line(),
                    "tc" => sink.tab(),
                    _ => {}
                }
            }
            Event::Text(text) if is_text => sink.push(&text.xml10_content()),
            Event::CData(text) if is_text => sink.push(&text.xml10_content()),
            Event::GeneralRef(reference) if is_text => {
                let known = reference.resolve_char_ref().ok().flatten().or(predefined(&reference));
                sink.push(known.unwrap_or('\u{fffd}').encode_utf8(&mut [0; 4]));
            }
            _ => {}
        }
    }
    sink.line();
    Ok(())
}

fn opened(name: &str, sink: &mut TextSink) {
    match name {
        "tab" => sink.push("\t"),
        "br" | "cr" => sink.line(),
        _ => {}
    }
}

fn predefined(name: &str) -> Option<char> {
    Some(match name {
        "lt" => '<',
        "gt" => '>',
        "amp" => '&',
        "quot" => '"',
        "apos" => '\'',
        _ => return None,
    })
}
