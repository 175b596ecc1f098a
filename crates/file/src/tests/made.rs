//! Files made by hand.

use std::io::{Cursor, Write};

use ::zip::ZipWriter;
use ::zip::write::SimpleFileOptions;

/// A PDF of objects, numbered from 1; the first is the catalog.
pub fn pdf_of(objects: &[Vec<u8>], trailer: &str) -> Vec<u8> {
    let (mut out, mut places) = (b"%PDF-1.7\n".to_vec(), Vec::new());
    for (at, object) in objects.iter().enumerate() {
        places.push(out.len());
        out.extend(format!("{} 0 obj\n", at + 1).into_bytes());
        out.extend(object);
        out.extend(b"\nendobj\n");
    }
    let start = out.len();
    out.extend(format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).into_bytes());
    for place in places {
        out.extend(format!("{place:010} 00000 n \n").into_bytes());
    }
    let size = objects.len() + 1;
    out.extend(
        format!("trailer\n<< /Size {size} /Root 1 0 R {trailer} >>\nstartxref\n{start}\n%%EOF\n")
            .into_bytes(),
    );
    out
}

pub fn stream(members: &str, content: &[u8]) -> Vec<u8> {
    let mut object = format!("<< /Length {} {members} >>\nstream\n", content.len()).into_bytes();
    object.extend(content);
    object.extend(b"\nendstream");
    object
}

/// A PDF with a page for each content.
pub fn pdf(contents: &[&str]) -> Vec<u8> {
    let contents: Vec<Vec<u8>> = contents.iter().map(|content| stream("", content.as_bytes())).collect();
    pdf_with(&contents)
}

/// The same of streams that are made already.
pub fn pdf_with(contents: &[Vec<u8>]) -> Vec<u8> {
    let kids: Vec<String> = (0..contents.len()).map(|at| format!("{} 0 R", 4 + at * 2)).collect();
    let mut objects = vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        format!("<< /Type /Pages /Kids [{}] /Count {} >>", kids.join(" "), contents.len()).into_bytes(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_vec(),
    ];
    for (at, content) in contents.iter().enumerate() {
        let page = format!(
            "<< /Type /Page /Parent 2 0 R /Resources << /Font << /F1 3 0 R >> >> /Contents {} 0 R >>",
            5 + at * 2
        );
        objects.push(page.into_bytes());
        objects.push(content.clone());
    }
    pdf_of(&objects, "")
}

pub fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in members {
        archive.start_file(*name, SimpleFileOptions::default()).expect("a new member");
        archive.write_all(content).expect("memory takes it");
    }
    archive.finish().expect("memory takes it").into_inner()
}

/// A document with these paragraphs.
pub fn docx(paragraphs: &[&str], pages: Option<u32>) -> Vec<u8> {
    let body = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><w:document xmlns:w=\"w\"><w:body>{}</w:body></w:document>",
        paragraphs.concat()
    );
    let properties = pages.map(|pages| format!("<Properties><Pages>{pages}</Pages></Properties>"));
    let mut members = vec![("word/document.xml", body.as_bytes())];
    if let Some(properties) = &properties {
        members.push(("docProps/app.xml", properties.as_bytes()));
    }
    zip(&members)
}
