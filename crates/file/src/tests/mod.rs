//! Files that the tests make themselves, and what is read of them.

mod hostile;
mod made;

use made::{docx, pdf, zip};

use crate::{FileError, FileErrorCode, FileKind, FileText, Hints, ReadFile, ReadLimits, count, detect, read};

fn check_type(bytes: &[u8], name: Option<&str>, declared: Option<&str>, expected: (FileKind, &str)) {
    let found = detect(bytes, name, declared);
    assert_eq!((found.kind, found.media_type.as_str()), expected, "{name:?} {declared:?}");
}

#[test]
fn content_decides_what_a_file_is_whatever_its_sender_called_it() {
    use FileKind::*;
    let lie = (Some("notes.txt"), Some("text/plain"));
    let table: [(&[u8], FileKind, &str); 13] = [
        (b"%PDF-1.7\n", Pdf, "application/pdf"),
        (b"junk before\n%PDF-1.4\n", Pdf, "application/pdf"),
        (b"\x89PNG\r\n\x1a\n\0\0", Image, "image/png"),
        (b"\xff\xd8\xff\xe0..JFIF", Image, "image/jpeg"),
        (b"GIF89a", Image, "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", Image, "image/webp"),
        (b"RIFF\0\0\0\0WAVEfmt ", Audio, "audio/wav"),
        (b"ID3\x04", Audio, "audio/mpeg"),
        (b"\0\0\0\x20ftypisom", Video, "video/mp4"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", Other, "application/x-ole-storage"),
        (b"\x1f\x8b\x08", Other, "application/gzip"),
        (b"\x7fELF\x02", Other, "application/x-executable"),
        (b"\x01\x02\0\x03", Other, "application/octet-stream"),
    ];
    for (bytes, kind, media_type) in table {
        check_type(bytes, lie.0, lie.1, (kind, media_type));
    }
    let word = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
    check_type(&docx(&["x"], None), lie.0, lie.1, (Docx, word));
    check_type(&zip(&[("a.txt", b"x")]), Some("a.docx"), Some(word), (Other, "application/zip"));
    check_type(b"hello", Some("a.pdf"), Some("application/pdf"), (Text, "text/plain"));
}

/// Bytes, the name, what the sender called it; the kind and the media type.
type TextCase = (&'static [u8], Option<&'static str>, Option<&'static str>, FileKind, &'static str);

#[test]
fn text_types_are_detected_by_content_name_and_declared_type() {
    use FileKind::*;
    let table: [TextCase; 12] = [
        (b"a,b\n1,2\n", Some("a.CSV"), None, Text, "text/csv"),
        (b"a,b\n1,2\n", None, Some("text/csv; charset=utf-8"), Text, "text/csv"),
        (b"# Title", Some("a.md"), Some("application/octet-stream"), Text, "text/markdown"),
        (b"{}", Some("a.json"), Some("text/plain"), Text, "application/json"),
        (b"{}", None, Some("application/problem+json"), Text, "application/problem+json"),
        (b" <!-- x --> <!DOCTYPE html><p>", None, None, Html, "text/html"),
        (b"<p>hi</p>", None, Some("text/html"), Html, "text/html"),
        (b"<p>hi</p>", Some("a.htm"), None, Html, "text/html"),
        (b"<?xml version=\"1.0\"?><a/>", None, None, Text, "application/xml"),
        (b"<svg xmlns=\"x\"/>", None, None, Text, "image/svg+xml"),
        (b"\xff\xfeh\0i\0", None, None, Text, "text/plain"),
        (b"", Some("a.txt"), None, Text, "text/plain"),
    ];
    for (bytes, name, declared, kind, media_type) in table {
        check_type(bytes, name, declared, (kind, media_type));
    }
}

fn take(bytes: &[u8], name: &str, limits: &ReadLimits) -> Result<ReadFile, FileError> {
    read(bytes, &detect(bytes, Some(name), None), Hints::default(), limits)
}

fn whole(text: &str, pages: Option<u32>) -> Result<ReadFile, FileError> {
    Ok(ReadFile { pages, text: Some(FileText { text: text.to_owned(), is_cut: false }) })
}

#[test]
fn a_pdf_gives_its_pages_and_its_text() {
    let bytes = pdf(&[
        "BT /F1 12 Tf 72 700 Td (Profit rose) Tj 0 -14 Td [(by) -250 (7%)] TJ ET",
        "BT /F1 12 Tf (Page two) Tj ET",
    ]);
    assert_eq!(take(&bytes, "a.pdf", &ReadLimits::default()), whole("Profit rose\nby 7%\nPage two", Some(2)));
    assert_eq!(count(&bytes, &detect(&bytes, None, None)), Ok(Some(2)));
}

#[test]
fn a_document_gives_its_paragraphs_tables_and_characters() {
    let body = [
        "<w:p><w:r><w:t>Tom &amp; J</w:t><w:t>&#233;r&#xF4;me</w:t></w:r></w:p>",
        "<w:p><w:r><w:delText>gone</w:delText><w:instrText>PAGE</w:instrText><w:t>a</w:t><w:tab/><w:t>b</w:t></w:r></w:p>",
    ];
    let bytes = docx(&body, Some(3));
    assert_eq!(take(&bytes, "a.docx", &ReadLimits::default()), whole("Tom & Jérôme\na\tb", Some(3)));
    assert_eq!(count(&bytes, &detect(&bytes, None, None)), Ok(Some(3)));
}

#[test]
fn a_page_gives_what_its_reader_sees() {
    let page = "<!doctype html><title>News</title><style>p{}</style><script>alert('<p>no</p>')</script>\
        <h1>Big   news</h1><p>Tom &amp; <b>Jerry</b><br>met<ul><li>one<li>two</ul>\
        <table><tr><td>a<td>b<tr><td>c<td>d</table><!-- hidden --><template>no</template>";
    let shown = "News\nBig news\nTom & Jerry\nmet\n- one\n- two\na\tb\nc\td";
    assert_eq!(take(page.as_bytes(), "a.html", &ReadLimits::default()), whole(shown, None));
}

#[test]
fn text_of_any_encoding_is_read() {
    let check = |bytes: &[u8], charset: Option<&str>, expected: &str| {
        let found =
            read(bytes, &detect(bytes, Some("a.txt"), None), Hints { charset }, &ReadLimits::default());
        assert_eq!(found, whole(expected, None), "{charset:?}");
    };
    check("héllo\r\nwörld".as_bytes(), None, "héllo\r\nwörld");
    check(b"\xef\xbb\xbfhi", None, "hi");
    check(b"\xff\xfeh\0\xe9\0", None, "hé");
    check(b"\xfe\xff\0h\0\xe9", None, "hé");
    check(b"caf\xe9 \x80", None, "café €");
    check(b"\xcf\xf0\xe8\xe2\xe5\xf2", Some("windows-1251"), "Привет");
    check("đã".as_bytes(), Some("iso-8859-1"), "đã");
    check(b"a\x1b[31mb\x07", None, "a[31mb");
}

#[test]
fn text_beyond_a_limit_is_cut_and_marked() {
    let limits = |text: usize, pages: u32| ReadLimits { text, pages, ..ReadLimits::default() };
    let cut = |text: &str, pages| {
        Ok(ReadFile { pages, text: Some(FileText { text: text.to_owned(), is_cut: true }) })
    };
    assert_eq!(take("aéé".as_bytes(), "a.txt", &limits(4, 9)), cut("aé", None));
    let bytes = pdf(&["BT /F1 9 Tf (one) Tj ET", "BT /F1 9 Tf (two) Tj ET"]);
    assert_eq!(take(&bytes, "a.pdf", &limits(99, 1)), cut("one", Some(2)));
    assert_eq!(take(b"<html><p>one two three", "a.html", &limits(7, 9)), cut("one two", None));
    assert_eq!(
        take(&docx(&["<w:p><w:t>one two</w:t></w:p>"], None), "a.docx", &limits(3, 9)),
        cut("one", None)
    );
}

#[test]
fn a_file_without_text_names_the_reason() {
    let check = |bytes: &[u8], name: &str, code: FileErrorCode, message: &str| {
        let error = take(bytes, name, &ReadLimits::default()).expect_err(name);
        assert_eq!((error.code, error.message.as_str()), (code, message));
    };
    check(b"", "a.txt", FileErrorCode::NoText, "the file has no text");
    check(b" \n", "a.txt", FileErrorCode::NoText, "the file has no text");
    check(
        &pdf(&["0 0 m 9 9 l S"]),
        "a.pdf",
        FileErrorCode::NoText,
        "none of the PDF's 1 pages has text; they may be scanned",
    );
    check(
        &zip(&[("a", b"x")]),
        "a.zip",
        FileErrorCode::Unsupported,
        "no text can be taken out of a file of type application/zip",
    );
    check(
        b"\x89PNG\r\n\x1a\n",
        "a",
        FileErrorCode::Unsupported,
        "no text can be taken out of a file of type image/png",
    );
}
