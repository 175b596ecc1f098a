//! Credentials by their names and by their forms, in arguments that nobody declared as secret.
//!
//! 1. What a name with a word for a secret stands before: `token=…`, `Authorization: …`, `"apiKey":"…"`, `--password …`.
//! 2. What `Bearer` and `Basic` stand before, and the password in an address.
//! 3. JSON Web Tokens, private keys in PEM, and keys that begin as those of well-known services do.
//!
//! It is better to hide a word too much: the event has the arguments beside this, for those who may read them.

use riverrun_secret::HIDDEN;

/// The end of one word of a name that usually holds a secret.
const SECRET_WORDS: [&str; 17] = [
    "password",
    "passwd",
    "pwd",
    "passphrase",
    "passcode",
    "secret",
    "token",
    "credential",
    "credentials",
    "authorization",
    "cookie",
    "jwt",
    "apikey",
    "privatekey",
    "accesskey",
    "secretkey",
    "authkey",
];
/// Two words that do so together.
const SECRET_PAIRS: [(&str, &str); 11] = [
    ("api", "key"),
    ("private", "key"),
    ("access", "key"),
    ("secret", "key"),
    ("auth", "key"),
    ("account", "key"),
    ("master", "key"),
    ("ssh", "key"),
    ("signing", "key"),
    ("encryption", "key"),
    ("amz", "signature"),
];
/// How keys of services begin, and what is longer than these is one.
const PREFIXES: [&str; 22] = [
    "sk-",
    "sk_live_",
    "sk_test_",
    "rk_live_",
    "rk_test_",
    "whsec_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "npm_",
    "hf_",
];
const SHORTEST_KEY: usize = 16;
const SHORTEST_BEARER: usize = 6;
/// The words that stand before a credential in a header.
const SCHEMES: [&str; 3] = ["bearer", "basic", "token"];
/// A longer name is no name.
const LONGEST_NAME: usize = 128;

/// `apiKey`, `api_key`, `X-Api-Key` and `DB_PASSWORD` have such words; `max_tokens`, `key` and `author` have not.
pub(super) fn names_a_secret(name: &str) -> bool {
    let words = words(name);
    let is_word = |word: &String| SECRET_WORDS.iter().any(|known| word.ends_with(known));
    let is_pair = |pair: &[String]| SECRET_PAIRS.contains(&(pair[0].as_str(), pair[1].as_str()));
    words.iter().any(is_word) || words.windows(2).any(is_pair)
}

/// The words of a name in camelCase, snake_case or kebab-case, in lower case.
fn words(name: &str) -> Vec<String> {
    let (mut words, mut word, mut was_lower) = (Vec::new(), String::new(), false);
    for character in name.chars().take(LONGEST_NAME) {
        let is_break = !character.is_alphanumeric() || (character.is_uppercase() && was_lower);
        if is_break && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if character.is_alphanumeric() {
            word.extend(character.to_lowercase());
        }
        was_lower = character.is_lowercase() || character.is_numeric();
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// True if the word is an option whose value, the next word, is a secret: `--password`.
pub(super) fn is_option(text: &str) -> bool {
    text.starts_with('-') && is_name(text)
}

/// True for the name of a secret alone, whose value is elsewhere.
pub(super) fn is_name(text: &str) -> bool {
    !text.contains(['=', ':', ' ']) && names_a_secret(text)
}

/// The text with `[secret]` for each credential in it. It takes time in proportion to the text.
pub(super) fn without_credentials(text: &str) -> String {
    let (mut out, mut at, mut barren) = (String::new(), 0, [0; 2]);
    while let Some(character) = text[at..].chars().next() {
        match credential(text, at, &mut barren) {
            Some((start, end)) => {
                out.push_str(&text[at..start]);
                out.push_str(HIDDEN);
                at = end;
            }
            None => {
                out.push(character);
                at += character.len_utf8();
            }
        }
    }
    out
}

/// If a credential begins here, or behind what begins here: from where to where it is. No token and no key begins
/// before the places in `barren`.
fn credential(text: &str, at: usize, barren: &mut [usize; 2]) -> Option<(usize, usize)> {
    if matches!(text.as_bytes()[at], b':' | b'=' | b' ') {
        return named(text, at);
    }
    if !is_start(text, at) {
        return None;
    }
    address(text, at).or_else(|| scheme(text, at)).or_else(|| form(text, at, barren).map(|end| (at, end)))
}

/// True if no letter or digit is before this place.
fn is_start(text: &str, at: usize) -> bool {
    text[..at].chars().next_back().is_none_or(|before| !before.is_alphanumeric())
}

/// The value behind `name:`, `name=`, `"name":` or `--name `.
fn named(text: &str, at: usize) -> Option<(usize, usize)> {
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.".contains(byte);
    let is_option = text.as_bytes()[at] == b' ';
    let before = if is_option { &text[..at] } else { text[..at].trim_end_matches([' ', '"', '\'', '\\']) };
    let length = before.bytes().rev().take(LONGEST_NAME).take_while(is_of_name).count();
    let name = &before[before.len() - length..];
    if name.is_empty() || (is_option && !name.starts_with("--")) || !names_a_secret(name) {
        return None;
    }
    let behind = text[at + 1..].trim_start_matches(' ');
    let unescaped = behind.trim_start_matches('\\');
    let quote = unescaped.chars().next().filter(|first| matches!(first, '"' | '\''));
    let value = if quote.is_some() { &unescaped[1..] } else { behind };
    if value.starts_with(HIDDEN) {
        return None;
    }
    let start = text.len() - value.len();
    let length = match quote {
        Some(quote) => quoted_length(value, quote, unescaped.len() < behind.len()),
        None if text.as_bytes()[at] == b':' && is_of_header(name, value) => {
            value.find(['\n', '\r', '"', '\'']).unwrap_or(value.len())
        }
        None => value.find(ends_a_word).unwrap_or(value.len()),
    };
    (length > 0).then_some((start, start + length))
}

/// The length of a text in quotes, which in a text in quotes are escaped themselves.
fn quoted_length(value: &str, quote: char, is_escaped: bool) -> usize {
    let mut skips = false;
    let ends = |character: char| {
        let is_end = (character == quote && !skips) || (is_escaped && character == '\\');
        skips = character == '\\' && !skips;
        is_end
    };
    value.find(ends).unwrap_or(value.len())
}

fn ends_a_word(character: char) -> bool {
    character.is_whitespace() || matches!(character, '&' | ';' | ',' | '"' | '\'' | '}' | ']' | ')')
}

/// True for a header whose value has several words.
fn is_of_header(name: &str, value: &str) -> bool {
    let last = words(name).pop().unwrap_or_default();
    let first = value.split(' ').next().unwrap_or_default().to_ascii_lowercase();
    matches!(last.as_str(), "authorization" | "cookie") || SCHEMES.contains(&first.as_str())
}

/// The password in `scheme://user:password@host`, or the only word before the `@`.
fn address(text: &str, at: usize) -> Option<(usize, usize)> {
    let remaining = &text[at..];
    let letters =
        remaining.bytes().take(32).take_while(|b| b.is_ascii_alphanumeric() || b"+-.".contains(b)).count();
    let authority = remaining[letters..].strip_prefix("://").filter(|_| letters > 0)?;
    let start = text.len() - authority.len();
    let length =
        authority.find(|c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '\'' | '<' | '>'));
    let user = authority[..length.unwrap_or(authority.len())].rsplit_once('@')?.0;
    let (from, to) = match user.split_once(':') {
        Some((name, _)) => (start + name.len() + 1, start + user.len()),
        None => (start, start + user.len()),
    };
    (to > from).then_some((from, to))
}

/// What is behind `Bearer ` or `Basic `.
fn scheme(text: &str, at: usize) -> Option<(usize, usize)> {
    let remaining = text.as_bytes().get(at..)?;
    let length = [&b"bearer "[..], b"basic "].iter().find_map(|known| {
        remaining.get(..known.len()).filter(|found| found.eq_ignore_ascii_case(known)).map(<[u8]>::len)
    })?;
    let start = at + length;
    let end = start + key_length(&text.as_bytes()[start..]);
    // `basic understanding` has no digit and no capital letter behind the first.
    let body = &text[start..end];
    let is_key = body.bytes().any(|b| b.is_ascii_digit() || b"+/=._-".contains(&b))
        || body.bytes().skip(1).any(|b| b.is_ascii_uppercase());
    (end - start >= SHORTEST_BEARER && is_key).then_some((start, end))
}

/// Where a credential with a form of its own ends, if one begins here.
fn form(text: &str, at: usize, barren: &mut [usize; 2]) -> Option<usize> {
    let remaining = &text[at..];
    if remaining.starts_with("-----BEGIN ")
        && remaining.chars().take(64).collect::<String>().contains("PRIVATE KEY")
    {
        let Some(end) = remaining.find("-----END ") else { return Some(text.len()) };
        let behind = &remaining[end + 9..];
        return Some(at + end + 9 + behind.find("-----").map_or(behind.len(), |last| last + 5));
    }
    let is_prefixed = PREFIXES.iter().any(|prefix| remaining.starts_with(prefix));
    let barren = &mut barren[usize::from(is_prefixed)];
    if at < *barren || !(is_prefixed || remaining.starts_with("eyJ")) {
        return None;
    }
    let length = key_length(remaining.as_bytes());
    let word = &remaining[..length];
    let is_token = !is_prefixed && word.bytes().filter(|byte| *byte == b'.').count() >= 2;
    let is_key = is_prefixed && length >= SHORTEST_KEY && word.bytes().any(|byte| byte.is_ascii_digit());
    if is_token || is_key {
        return Some(at + length);
    }
    // What failed here fails for each shorter word with the same end.
    *barren = at + length;
    None
}

/// How many characters of a key or token are here.
fn key_length(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"-_.+/=~".contains(byte)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(without_credentials(text), expected, "{text}");
        assert_eq!(without_credentials(expected), expected, "what is hidden stays so: {text}");
    }

    #[test]
    fn what_a_name_stands_before_is_hidden() {
        check("Authorization: Bearer abc.def-123", "Authorization: [secret]");
        check("authorization: Digest username=\u{e9}, response=6629", "authorization: [secret]");
        check("Cookie: sid=1; csrf=2\nAccept: */*", "Cookie: [secret]\nAccept: */*");
        check("X-Api-Key: k9 rest", "X-Api-Key: [secret] rest");
        check("API_KEY=k9", "API_KEY=[secret]");
        check("https://h/p?q=1&access_token=ab%20c&x=2", "https://h/p?q=1&access_token=[secret]&x=2");
        check(r#"{"user":{"password":"hun ter2","id":7}}"#, r#"{"user":{"password":"[secret]","id":7}}"#);
        check(r#"{\"password\":\"hunter2\"}"#, r#"{\"password\":\"[secret]\"}"#);
        check("login --password hunter2 --user me", "login --password [secret] --user me");
        check("PGPASSWORD='a b' psql", "PGPASSWORD='[secret]' psql");
        check("clientSecret = x9, next", "clientSecret = [secret], next");
        check("AccountKey=ab==;Endpoint=e", "AccountKey=[secret];Endpoint=e");
        check(r#"{"token":"a\"b","c":1}"#, r#"{"token":"[secret]","c":1}"#);
    }

    #[test]
    fn credentials_are_hidden_by_their_form() {
        check("postgres://me:p%40ss@db:5432/x", "postgres://me:[secret]@db:5432/x");
        check("https://ghtoken@github.com/a.git", "https://[secret]@github.com/a.git");
        check("-H 'x: Bearer abcdef123456'", "-H 'x: Bearer [secret]'");
        check("Basic dXNlcjpwYXNz", "Basic [secret]");
        check("see eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln.", "see [secret]");
        check("key sk-proj-abcdef0123456789 ok", "key [secret] ok");
        check("AKIAIOSFODNN7EXAMPLE", "[secret]");
        check("a\n-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----\nb", "a\n[secret]\nb");
    }

    #[test]
    fn hostile_text_takes_no_more_time() {
        for piece in
            ["eyJ-", "sk-", "-.", "a://", "token:", " ", "\"", "bearer ", "=", "\u{e9}:", "-----BEGIN "]
        {
            let text = piece.repeat((1 << 20) / piece.len());
            let began = std::time::Instant::now();
            without_credentials(&text);
            assert!(began.elapsed().as_secs() < 10, "{piece}: {:?}", began.elapsed());
        }
    }

    #[test]
    fn ordinary_text_stays() {
        for text in [
            "a basic understanding of bearer bonds",
            "max_tokens: 5, tokens=7, author: me, key=a, keyboard: qwerty",
            "https://example.com/a@b?x=1",
            "mail me@example.com at 10:30",
            "ask-me-anything sk-ilful hf_ npm_run_build",
            "the secret of --force is time",
            "\u{1f600}: = \u{e9}",
            "",
        ] {
            check(text, text);
        }
    }
}
