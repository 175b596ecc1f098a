//! The files of a turn's inputs.

use riverrun_event::{Block, Input, Item, Part};
use riverrun_fold::TurnState;
use riverrun_log::BlobId;
use sha2::{Digest, Sha256};

/// Characters of a name that are kept.
const LONGEST_NAME: usize = 200;
/// Files of one turn that are looked at; the state holds facts of no more.
const MOST: usize = 100;

/// A file of an input, before anything of it was read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Attached {
    /// The same for the same source.
    pub id: String,
    pub source: FileSource,
    pub name: Option<String>,
    /// Where it is, for people: no user name, no query, no content.
    pub url: Option<String>,
    /// The media type that the sender named.
    pub declared: Option<String>,
    pub origin: Origin,
}

/// How the file came into the turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileSource {
    Input,
    History,
    Steer,
}

impl FileSource {
    pub const fn as_str(self) -> &'static str {
        match self {
            FileSource::Input => "input",
            FileSource::History => "history",
            FileSource::Steer => "steer",
        }
    }
}

/// Where the bytes of a file are.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Origin {
    Url(String),
    Blob(String),
    /// Base 64, of this media type.
    Inline {
        media_type: Option<String>,
        data: String,
    },
    /// Written with escapes in the address itself.
    Escaped {
        media_type: Option<String>,
        data: String,
    },
}

impl Origin {
    /// None for what is no file, and for a file that only the model's own service knows.
    pub fn of(part: &Part) -> Option<Self> {
        let (data, url, blob) = match part {
            Block::File(file) => (file.data.as_deref(), file.url.as_deref(), file.file_ref.as_ref()),
            Block::Image(image) => {
                (None, image.image_url.as_ref().map(|image| image.url.as_str()), image.file_ref.as_ref())
            }
            _ => return None,
        };
        match (data, url) {
            (Some(data), _) => {
                Some(inline(data).unwrap_or_else(|| Self::Inline { media_type: None, data: data.to_owned() }))
            }
            (None, Some(url)) => inline(url).or_else(|| named(url)),
            (None, None) => blob.and_then(|reference| named(reference.as_str())),
        }
    }

    fn digest(&self) -> String {
        let (kind, source) = match self {
            Origin::Url(url) => ("url", url),
            Origin::Blob(name) => ("blob", name),
            Origin::Inline { data, .. } => ("inline", data),
            Origin::Escaped { data, .. } => ("escaped", data),
        };
        let digest = Sha256::new().chain_update(kind).chain_update([0]).chain_update(source).finalize();
        digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }

    fn shown(&self) -> Option<String> {
        match self {
            Origin::Url(url) => Some(public(url)),
            Origin::Blob(name) => Some(name.clone()),
            Origin::Inline { media_type, .. } | Origin::Escaped { media_type, .. } => {
                media_type.as_ref().map(|media_type| format!("data:{media_type}"))
            }
        }
    }
}

fn named(url: &str) -> Option<Origin> {
    let scheme = url.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    match scheme.as_deref() {
        Some("http" | "https") => Some(Origin::Url(url.to_owned())),
        _ if BlobId::parse(url).is_some() => Some(Origin::Blob(url.to_owned())),
        _ => None,
    }
}

fn inline(url: &str) -> Option<Origin> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    let (media_type, is_base64) = match head.strip_suffix(";base64") {
        Some(media_type) => (media_type, true),
        None => (head, false),
    };
    let media_type = Some(media_type.to_owned()).filter(|media_type| !media_type.is_empty());
    let data = data.to_owned();
    Some(if is_base64 { Origin::Inline { media_type, data } } else { Origin::Escaped { media_type, data } })
}

/// An address without what may be secret in it.
fn public(url: &str) -> String {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    let url = &url[..end];
    let Some((scheme, address)) = url.split_once("://") else { return url.to_owned() };
    let (authority, path) = address.split_at(address.find('/').unwrap_or(address.len()));
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

/// The id of the file that a part is.
pub(crate) fn file_id(part: &Part) -> Option<String> {
    Origin::of(part).map(|origin| format!("file_{}", origin.digest()))
}

/// The files that the caller brought along, those of the input, then those of `steers`, each source once.
pub(crate) fn attached<'a>(turn: &TurnState, steers: impl Iterator<Item = &'a Input>) -> Vec<Attached> {
    let mut files = Vec::new();
    for item in &turn.history {
        let Item::Message(message) = item else { continue };
        if message.role.as_deref() == Some("user") {
            let parts = message.content.as_ref().or(message.block_list.as_ref());
            add(parts.into_iter().flatten(), FileSource::History, &mut files);
        }
    }
    add(parts(turn.input.as_ref()), FileSource::Input, &mut files);
    for steer in steers {
        add(parts(Some(steer)), FileSource::Steer, &mut files);
    }
    files
}

fn parts(input: Option<&Input>) -> impl Iterator<Item = &Part> {
    let parts: &[Part] = match input {
        Some(Input::Parts(parts)) => parts,
        Some(Input::Text(_)) | None => &[],
    };
    parts.iter()
}

fn add<'a>(parts: impl Iterator<Item = &'a Part>, source: FileSource, files: &mut Vec<Attached>) {
    for part in parts {
        if files.len() >= MOST {
            return;
        }
        let Some(origin) = Origin::of(part) else { continue };
        let id = format!("file_{}", origin.digest());
        if files.iter().any(|known| known.id == id) {
            continue;
        }
        let (name, declared) = match part {
            Block::File(file) => (file.name.clone(), file.media_type.clone()),
            Block::Image(image) => (None, image.media_type.clone()),
            _ => (None, None),
        };
        let name = name.or_else(|| last_segment(&origin)).map(|name| clean(&name));
        let declared = declared.or_else(|| match &origin {
            Origin::Inline { media_type, .. } | Origin::Escaped { media_type, .. } => media_type.clone(),
            Origin::Url(_) | Origin::Blob(_) => None,
        });
        let url = origin.shown();
        files.push(Attached { id, source, name, url, declared, origin });
    }
}

/// The name at the end of an address, if it looks like one of a file.
fn last_segment(origin: &Origin) -> Option<String> {
    let Origin::Url(url) = origin else { return None };
    let url = public(url);
    let (_, path) = url.split_once("://")?.1.split_once('/')?;
    let name = path.rsplit('/').next()?;
    name.contains('.').then(|| String::from_utf8_lossy(&unescaped(name)).into_owned())
}

/// A name on one line, without what ends the quotes around it.
pub(crate) fn clean(name: &str) -> String {
    let name = name.chars().filter(|c| !c.is_control()).map(|c| if c == '"' { '\'' } else { c });
    name.take(LONGEST_NAME).collect()
}

/// Bytes with `%41` for a byte.
pub(crate) fn unescaped(text: &str) -> Vec<u8> {
    let (bytes, mut out, mut at) = (text.as_bytes(), Vec::with_capacity(text.len()), 0);
    while at < bytes.len() {
        let pair = bytes.get(at + 1..at + 3).and_then(|pair| std::str::from_utf8(pair).ok());
        let byte = pair.filter(|_| bytes[at] == b'%').and_then(|pair| u8::from_str_radix(pair, 16).ok());
        out.push(byte.unwrap_or(bytes[at]));
        at += if byte.is_some() { 3 } else { 1 };
    }
    out
}

#[cfg(test)]
mod tests {
    use riverrun_event::{FileBlock, ImageBlock, ImageUrl};

    use super::*;

    fn file(url: &str) -> Part {
        Part::File(FileBlock { url: Some(url.to_owned()), ..FileBlock::default() })
    }

    fn found(part: Part) -> Option<(Option<String>, Option<String>, Option<String>)> {
        let mut files = Vec::new();
        add([part].iter(), FileSource::Input, &mut files);
        files.pop().map(|file| (file.name, file.url, file.declared))
    }

    #[test]
    fn a_file_shows_its_name_and_nothing_secret() {
        let check = |part: Part, name: Option<&str>, url: Option<&str>, declared: Option<&str>| {
            let own = |text: Option<&str>| text.map(str::to_owned);
            assert_eq!(found(part), Some((own(name), own(url), own(declared))));
        };
        let signed = "https://me:pass@files.example/a/My%20report.pdf?X-Signature=1#page=2";
        check(file(signed), Some("My report.pdf"), Some("https://files.example/a/My%20report.pdf"), None);
        check(file("https://files.example"), None, Some("https://files.example"), None);
        check(file("data:text/csv;base64,YQ=="), None, Some("data:text/csv"), Some("text/csv"));
        check(file("data:,a%20b"), None, None, None);
        let named = FileBlock {
            data: Some("YQ==".to_owned()),
            name: Some("a\n\"b\".txt".to_owned()),
            ..FileBlock::default()
        };
        check(Part::File(named), Some("a'b'.txt"), None, None);
        let image_url = Some(ImageUrl { url: "https://files.example/a.png".to_owned(), detail: None });
        let image = Part::Image(ImageBlock { image_url, ..ImageBlock::default() });
        check(image, Some("a.png"), Some("https://files.example/a.png"), None);
    }

    #[test]
    fn what_only_the_service_knows_is_no_file_here() {
        for part in [file("file-abc"), file("gs://bucket/a.pdf"), file("files/abc"), Part::plain("x")] {
            assert_eq!(found(part.clone()), None, "{part:?}");
        }
    }

    #[test]
    fn the_same_source_is_read_once() {
        let mut files = Vec::new();
        add([file("https://a.example/x"), file("https://a.example/x")].iter(), FileSource::Input, &mut files);
        assert_eq!(files.len(), 1);
        assert_eq!(file_id(&file("https://a.example/x")).as_ref(), Some(&files[0].id));
    }
}
