//! Bytes of a text as text.

use std::borrow::Cow;

use encoding_rs::{Encoding, WINDOWS_1252};

/// The mark of UTF-8 or UTF-16 decides, then UTF-8 if it is that, then the charset that was named, then Windows-1252,
/// in which every byte is something.
pub(crate) fn decode<'a>(bytes: &'a [u8], charset: Option<&str>) -> Cow<'a, str> {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        return encoding.decode_without_bom_handling(&bytes[mark..]).0;
    }
    let named = charset.and_then(|charset| Encoding::for_label(charset.as_bytes()));
    match (std::str::from_utf8(bytes), named) {
        (Ok(text), None) => Cow::Borrowed(text),
        (Ok(text), Some(named)) if named.is_ascii_compatible() => Cow::Borrowed(text),
        // A character that the end of a beginning cut through.
        (Err(error), None) if error.error_len().is_none() && error.valid_up_to() > 0 => {
            String::from_utf8_lossy(bytes)
        }
        (_, named) => named.unwrap_or(WINDOWS_1252).decode_without_bom_handling(bytes).0,
    }
}

/// The beginning of a text that is at most `limit` bytes long, without control characters that no text needs.
pub(crate) fn read(bytes: &[u8], charset: Option<&str>, limit: usize) -> (String, bool) {
    // A character has at most four bytes, and a byte becomes at most three.
    let head = &bytes[..bytes.len().min(limit.saturating_mul(4).saturating_add(4))];
    let text = decode(head, charset);
    let is_shown = |c: &char| !c.is_control() || matches!(c, '\n' | '\r' | '\t');
    let mut text: String = text.chars().filter(is_shown).collect();
    let is_cut = text.len() > limit || head.len() < bytes.len();
    text.truncate(text.floor_char_boundary(limit));
    (text, is_cut)
}
