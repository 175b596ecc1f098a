//! Credentials of this server: API keys, tickets and browser credentials. The server stores only their digests, so
//! they are recognised by their form.

/// How each begins: API key, ticket, browser credential.
pub(crate) const PREFIXES: [&str; 3] = ["rr_", "rt_", "rb_"];
/// A key has more characters behind its prefix, an identifier in a program has fewer.
const SHORTEST: usize = 40;

pub(crate) enum Shape {
    /// A credential that ends here.
    Whole(usize),
    /// More bytes decide.
    Open,
    Other,
}

/// What begins at `start`, where one of the prefixes stands. `is_last`: no more bytes follow.
pub(crate) fn shape(bytes: &[u8], start: usize, is_last: bool) -> Shape {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if start > 0 && (bytes[start - 1].is_ascii_alphanumeric() || bytes[start - 1] == b'_') {
        return Shape::Other;
    }
    let body = &bytes[(start + 3).min(bytes.len())..];
    let length = body.iter().take_while(|byte| is_part(byte)).count();
    if length == body.len() && !is_last {
        return Shape::Open;
    }
    let ended = body[..length].iter().rposition(|byte| *byte != b'.').map_or(0, |last| last + 1);
    if ended >= SHORTEST { Shape::Whole(start + 3 + ended) } else { Shape::Other }
}
