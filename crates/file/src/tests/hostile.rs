//! Files that are made to break their reader: each ends with a bounded error or a bounded text, soon.

use std::io::Write;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::made::{docx, pdf_of, pdf_with, stream, zip};
use super::take;
use crate::{FileError, FileErrorCode, ReadFile, ReadLimits};

/// Reads a file and holds that it does not take long.
fn soon(bytes: &[u8], name: &str) -> Result<ReadFile, FileError> {
    let began = Instant::now();
    let limits = ReadLimits { time: Duration::from_secs(5), ..ReadLimits::default() };
    let found = take(bytes, name, &limits);
    assert!(began.elapsed() < Duration::from_secs(20), "{name} took {:?}", began.elapsed());
    if let Ok(ReadFile { text: Some(text), .. }) = &found {
        assert!(text.text.len() <= limits.text, "{name}");
    }
    found
}

fn code(found: Result<ReadFile, FileError>) -> Option<FileErrorCode> {
    found.err().map(|error| error.code)
}

fn deflated(size: usize, with: &[u8]) -> Vec<u8> {
    let mut out = ZlibEncoder::new(Vec::new(), Compression::best());
    let piece = with.repeat((1 << 20) / with.len());
    for _ in 0..size >> 20 {
        out.write_all(&piece).expect("memory takes it");
    }
    out.finish().expect("memory takes it")
}

#[test]
fn a_page_tree_that_leads_back_to_itself_ends() {
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R 2 0 R] /Count 2 /Parent 3 0 R >>",
        "<< /Type /Pages /Kids [2 0 R 3 0 R] /Count 2 /Parent 2 0 R >>",
    ];
    let objects: Vec<Vec<u8>> = objects.iter().map(|object| object.as_bytes().to_vec()).collect();
    assert_eq!(code(soon(&pdf_of(&objects, ""), "cycle.pdf")), Some(FileErrorCode::Damaged));
}

#[test]
fn a_page_that_unpacks_without_end_is_too_large() {
    let bomb = stream("/Filter /FlateDecode", &deflated(256 << 20, b"q Q "));
    assert_eq!(code(soon(&pdf_with(&[bomb]), "bomb.pdf")), Some(FileErrorCode::TooLarge));
}

#[test]
fn a_stream_that_is_packed_twice_is_no_way_around() {
    let twice = {
        let mut out = ZlibEncoder::new(Vec::new(), Compression::best());
        out.write_all(&deflated(256 << 20, b"q Q ")).expect("memory takes it");
        out.finish().expect("memory takes it")
    };
    let bomb = stream("/Filter [/FlateDecode /FlateDecode]", &twice);
    assert_eq!(code(soon(&pdf_with(&[bomb]), "twice.pdf")), Some(FileErrorCode::TooLarge));
}

#[test]
fn arrays_in_arrays_do_not_exhaust_the_stack() {
    let nested = [b"[".repeat(200_000), b"]".repeat(200_000)].concat();
    let objects = [b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(), nested];
    assert_eq!(code(soon(&pdf_of(&objects, ""), "nested.pdf")), Some(FileErrorCode::Damaged));
}

#[test]
fn an_encrypted_pdf_is_called_that() {
    let objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [] /Count 0 >>".to_vec(),
        format!("<< /Filter /Standard /V 2 /R 3 /Length 128 /P -44 /O <{0}> /U <{0}> >>", "41".repeat(32))
            .into_bytes(),
    ];
    let bytes = pdf_of(&objects, "/Encrypt 3 0 R /ID [<4141> <4141>]");
    assert_eq!(code(soon(&bytes, "locked.pdf")), Some(FileErrorCode::Encrypted));
}

#[test]
fn a_cut_or_senseless_pdf_is_damaged() {
    let good = super::pdf(&["BT /F1 9 Tf (one) Tj ET"]);
    for end in [9, 40, good.len() / 2] {
        assert!(soon(&good[..end], "cut.pdf").is_err(), "{end}");
    }
    assert_eq!(code(soon(b"%PDF-1.7\nnothing of the kind", "none.pdf")), Some(FileErrorCode::Damaged));
}

#[test]
fn a_document_that_unpacks_without_end_is_too_large() {
    let paragraph = "<w:p></w:p>".repeat(1 << 13);
    let bytes = docx(&[paragraph.as_str(); 800], None);
    assert!(bytes.len() < 4 << 20);
    assert_eq!(code(soon(&bytes, "bomb.docx")), Some(FileErrorCode::TooLarge));
}

#[test]
fn sizes_that_an_archive_invents_are_not_believed() {
    let good = docx(&["<w:p><w:t>hello</w:t></w:p>"], None);
    // The sizes in the local header and in the directory.
    for (signature, at) in [(b"PK\x03\x04", 22), (b"PK\x01\x02", 24)] {
        let mut bytes = good.clone();
        let start = bytes.windows(4).position(|window| window == signature).expect("it is there");
        bytes[start + at..start + at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
        let found = soon(&bytes, "liar.docx");
        let is_read =
            found.as_ref().is_ok_and(|read| read.text.as_ref().is_some_and(|text| text.text == "hello"));
        assert!(is_read || code(found) == Some(FileErrorCode::Damaged));
    }
}

#[test]
fn entities_are_never_expanded() {
    let declared = "<!DOCTYPE w [<!ENTITY a \"xx\"><!ENTITY b \"&a;&a;\">]><w:document><w:p><w:t>&b;</w:t></w:p></w:document>";
    let bytes = zip(&[("word/document.xml", declared.as_bytes())]);
    assert_eq!(code(soon(&bytes, "laughs.docx")), Some(FileErrorCode::Damaged));
    let undeclared = soon(&docx(&["<w:p><w:t>a&b;c</w:t></w:p>"], None), "unknown.docx").expect("it is read");
    assert_eq!(undeclared.text.expect("it has text").text, "a\u{fffd}c");
}

#[test]
fn elements_in_elements_do_not_exhaust_the_stack() {
    let page = format!("<html>{}deep", "<div>".repeat(1_000_000));
    assert_eq!(
        soon(page.as_bytes(), "deep.html").expect("it is read").text.expect("it has text").text,
        "deep"
    );
    let deep = format!("{}<w:t>deep</w:t>", "<w:p>".repeat(500_000));
    assert_eq!(code(soon(&docx(&[&deep], None), "deep.docx")), Some(FileErrorCode::Damaged));
}

#[test]
fn an_element_with_a_million_attributes_ends_in_time() {
    let attributes: String = (0..1_000_000).map(|at| format!(" a{at}=1")).collect();
    let found = soon(format!("<html><p{attributes}>x").as_bytes(), "attributes.html");
    assert!(found.is_ok() || code(found) == Some(FileErrorCode::Timeout));
}

#[test]
fn a_line_of_fifty_megabytes_is_cut() {
    let line = "x,".repeat(25 << 20);
    let found = soon(line.as_bytes(), "long.csv").expect("it is read");
    assert!(found.text.expect("it has text").is_cut);
}
