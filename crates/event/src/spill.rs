//! Payloads over the limit: the largest strings go out to the blob store, the event keeps a preview and a reference.
//!
//! The payload keeps its shape, so every reader still understands it. `refs.spilled` lists what was taken out:
//! path, reference, media type, size and digest. Nothing is lost: the bytes are in the store before the event is.
//! What the event keeps says itself that it is cut, for states and dialects have no place for the references.

use serde_json::value::RawValue;

use crate::{Draft, json};

/// Strings shorter than this are never taken out.
const SMALLEST: usize = 1024;
/// How much of a string the event keeps, in characters.
pub const PREVIEW_CHARACTERS: usize = 512;
/// Stands between the two.
const MARK: &str = "\u{2026} [cut: ";

/// One string that left the payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spilled {
    /// A JSON pointer into the envelope, e.g. `/payload/item/blockList/0/text`.
    pub path: String,
    /// The whole string.
    pub content: String,
    /// `sha256` of the content in lower-case hexadecimal; the blob's name is `blob_` + this.
    pub digest: String,
}

/// Takes strings out of the draft, largest first, until it fits `limit`.
/// None if it fits already; an error with the remaining size if it cannot be made to fit.
pub fn spill(draft: &mut Draft, limit: usize) -> Result<Vec<Spilled>, usize> {
    if draft.size() <= limit {
        return Ok(Vec::new());
    }
    let mut strings = Vec::new();
    Strings { text: draft.members.as_bytes(), at: 0, found: &mut strings }.value(&mut String::new());
    strings.retain(|s| s.path.starts_with("/payload/") && s.end - s.start >= SMALLEST);
    strings.sort_by_key(|s| std::cmp::Reverse(s.end - s.start));
    let (mut size, mut taken) = (draft.size(), 0);
    // What a reference and the words about the cut cost, besides the preview.
    while size > limit && taken < strings.len() {
        size = size + PREVIEW_CHARACTERS + 384 - (strings[taken].end - strings[taken].start).min(size);
        taken += 1;
    }
    if size > limit {
        return Err(draft.size());
    }
    strings.truncate(taken);
    strings.sort_by_key(|s| s.start);
    let (members, spilled) = cut(&draft.members, &strings);
    draft.members = with_refs(members, &spilled);
    Ok(spilled)
}

/// The beginning of a text.
pub fn preview(content: &str) -> &str {
    content.char_indices().nth(PREVIEW_CHARACTERS).map_or(content, |(end, _)| &content[..end])
}

/// What the event keeps of a string: its beginning, its size, and where the whole of it is.
fn marked(content: &str, digest: &str) -> String {
    format!("{}{MARK}{} bytes, whole in blob_{digest}]", preview(content), content.len())
}

/// The beginning of a string that was cut, and the blob that holds the whole of it. None for any other string.
pub fn cut_text(text: &str) -> Option<(&str, &str)> {
    cut_of(text).map(|(start, reference, _)| (start, reference))
}

/// The size in bytes of a string before it was cut. None for any other string.
pub fn cut_size(text: &str) -> Option<u64> {
    cut_of(text).map(|(_, _, size)| size)
}

fn cut_of(text: &str) -> Option<(&str, &str, u64)> {
    let (start, words) = text.rsplit_once(MARK)?;
    let (size, reference) = words.strip_suffix(']')?.split_once(" bytes, whole in ")?;
    let is_digest = |digest: &str| digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    let size = size.parse().ok()?;
    is_digest(reference.strip_prefix("blob_")?).then_some((start, reference, size))
}

fn cut(members: &str, strings: &[Found]) -> (String, Vec<Spilled>) {
    let (mut out, mut spilled, mut copied_to) = (String::new(), Vec::new(), 0);
    for found in strings {
        let quoted = &members[found.start..found.end];
        let content: String = serde_json::from_str(quoted).unwrap_or_default();
        out.push_str(&members[copied_to..found.start]);
        let digest = sha256(content.as_bytes());
        json::write_string(&mut out, &marked(&content, &digest));
        copied_to = found.end;
        spilled.push(Spilled { path: found.path.clone(), digest, content });
    }
    out.push_str(&members[copied_to..]);
    (out, spilled)
}

fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest;
    sha2::Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Adds `refs.spilled`, keeping the refs that are there.
fn with_refs(members: String, spilled: &[Spilled]) -> String {
    let mut list = String::from("\"spilled\":[");
    for (at, one) in spilled.iter().enumerate() {
        let comma = if at > 0 { "," } else { "" };
        list.push_str(comma);
        list.push_str("{\"path\":");
        json::write_string(&mut list, &one.path);
        list.push_str(&format!(
            ",\"ref\":\"blob_{0}\",\"mediaType\":\"text/plain; charset=utf-8\",\"size\":{1},\"digest\":\"sha256:{0}\"}}",
            one.digest,
            one.content.len()
        ));
    }
    list.push(']');
    // `refs` is the last member that a draft writes.
    let refs_at = members
        .rfind(",\"refs\":{")
        .filter(|at| serde_json::from_str::<&RawValue>(&members[at + 8..members.len() - 1]).is_ok());
    let stem = members.strip_suffix('}').unwrap_or(&members);
    match refs_at {
        Some(_) => {
            let inside = stem.strip_suffix('}').unwrap_or(stem);
            let comma = if inside.ends_with('{') { "" } else { "," };
            format!("{inside}{comma}{list}}}}}")
        }
        None => format!("{stem},\"refs\":{{{list}}}}}"),
    }
}

struct Found {
    path: String,
    start: usize,
    end: usize,
}

/// Walks JSON that is known to be well formed and without white space.
struct Strings<'a> {
    text: &'a [u8],
    at: usize,
    found: &'a mut Vec<Found>,
}

impl Strings<'_> {
    fn value(&mut self, path: &mut String) {
        match self.text.get(self.at) {
            Some(b'{') => self.object(path),
            Some(b'[') => self.array(path),
            Some(b'"') => {
                let start = self.at;
                self.string();
                self.found.push(Found { path: path.clone(), start, end: self.at });
            }
            Some(_) => {
                while !matches!(self.text.get(self.at), None | Some(b',' | b'}' | b']')) {
                    self.at += 1;
                }
            }
            None => {}
        }
    }

    fn string(&mut self) {
        self.at += 1;
        while let Some(byte) = self.text.get(self.at) {
            match byte {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at += 1;
    }

    fn object(&mut self, path: &mut String) {
        self.at += 1;
        while self.text.get(self.at) == Some(&b'"') {
            let key_from = self.at + 1;
            self.string();
            let key = String::from_utf8_lossy(&self.text[key_from..self.at - 1])
                .replace('~', "~0")
                .replace('/', "~1");
            self.at += 1;
            self.inside(path, &key);
            if self.text.get(self.at) == Some(&b',') {
                self.at += 1;
            }
        }
        self.at += 1;
    }

    fn array(&mut self, path: &mut String) {
        self.at += 1;
        let mut index = 0;
        while !matches!(self.text.get(self.at), None | Some(b']')) {
            self.inside(path, &index.to_string());
            index += 1;
            if self.text.get(self.at) == Some(&b',') {
                self.at += 1;
            }
        }
        self.at += 1;
    }

    fn inside(&mut self, path: &mut String, step: &str) {
        let length = path.len();
        path.push('/');
        path.push_str(step);
        self.value(path);
        path.truncate(length);
    }
}
