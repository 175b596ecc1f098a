//! The one set of this process.

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, RwLock};

use riverrun_log::seeded::{self, Bug};

use crate::forms::SHORTEST;
use crate::redactor::Redactor;

/// The oldest values are forgotten beyond these bounds; a secret that changes every minute does not fill the memory.
const MOST_VALUES: usize = 1024;
const LONGEST: usize = 64 * 1024;

/// A value that only its name calls a secret is one from this length on. Keys and tokens are longer.
const SHORTEST_NAMED: usize = 8;
/// What counts as words, and not as a secret.
const LONGEST_WORD: usize = 14;
const MOST_WORDS: usize = 4;
const MOST_DIGITS: usize = 3;

static VALUES: Mutex<VecDeque<String>> = Mutex::new(VecDeque::new());
static KNOWN: LazyLock<RwLock<Arc<Redactor>>> = LazyLock::new(|| RwLock::new(Arc::new(Redactor::new(&[]))));

/// What hides the secrets that are known now.
pub fn known() -> Arc<Redactor> {
    KNOWN.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// From now on the value is hidden wherever this process writes it.
pub fn learn(value: &str) {
    let value = value.trim();
    if value.len() < SHORTEST || value.len() > LONGEST || seeded::is_on(Bug::RedactOwnSecretsOnly) {
        return;
    }
    let mut values = VALUES.lock().unwrap_or_else(PoisonError::into_inner);
    if values.iter().any(|known| known == value) {
        return;
    }
    values.push_back(value.to_owned());
    if values.len() > MOST_VALUES {
        values.pop_front();
    }
    let redactor = Arc::new(Redactor::new(values.make_contiguous()));
    *KNOWN.write().unwrap_or_else(PoisonError::into_inner) = redactor;
}

/// Learns a value of a variable or header that may be a secret: one whose name says so, unless it looks like something
/// else. `AUTH_MODE=oauth2` is no reason to hide a word everywhere.
pub fn learn_named(name: &str, value: &str) {
    learn_url(value);
    let is_secret = match names_a_password(name) {
        true => !is_ordinary(value) && !is_bare_word(value),
        false => value.len() >= SHORTEST_NAMED && !is_ordinary(value) && !is_words(value),
    };
    if names_a_secret(name) && is_secret {
        learn(value);
    }
}

/// Learns a value that the configuration refers to as a secret, unless it is plainly something else: `{ env = "HOME" }`
/// is no reason to hide a path everywhere.
pub fn learn_referred(value: &str) {
    learn_url(value);
    if !is_ordinary(value) && !is_bare_word(value) {
        learn(value);
    }
}

/// Learns what an address holds to be let in: its user and password, and values of its query that are named like
/// secrets.
pub fn learn_url(url: &str) {
    let Some((_, remaining)) = url.split_once("://") else { return };
    let authority = &remaining[..remaining.find(['/', '?', '#']).unwrap_or(remaining.len())];
    if let Some((user, _)) = authority.rsplit_once('@') {
        learn(user);
        if let Some((_, password)) = user.split_once(':') {
            learn(password);
            learn(&decoded(password));
        }
    }
    let query = remaining.split_once('?').map_or("", |(_, query)| query);
    for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
        if names_a_secret(name) && !value.starts_with('{') {
            learn(value);
            learn(&decoded(value));
        }
    }
}

fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(byte) = bytes.get(at) {
        let code = text.get(at + 1..at + 3).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match code.filter(|_| *byte == b'%') {
            Some(code) => {
                out.push(code);
                at += 3;
            }
            None => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// True for the name of a variable or a header that usually holds a secret.
pub fn names_a_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["key", "token", "secret", "passw", "credential", "auth", "cookie"].iter().any(|word| name.contains(word))
}

/// True for the name of a value that people choose: it may be short, or made of words.
fn names_a_password(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["passw", "passphrase", "pwd"].iter().any(|word| name.contains(word))
}

/// A path, an address, a number or a switch: hiding it everywhere would hide ordinary text.
fn is_ordinary(value: &str) -> bool {
    let is_number = value.len() < 12 && value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let is_address = value.contains("://") && !value.contains('@');
    value.starts_with(['/', '.', '~']) || is_address || is_number
}

/// One word as people write it: `postgres`, `Bearer`, `RSA`, `oauth2`.
fn is_word(text: &str) -> bool {
    let letters = text.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = text.len() - letters.len();
    let has_one_case = letters.bytes().skip(1).all(|byte| byte.is_ascii_lowercase())
        || letters.bytes().all(|byte| byte.is_ascii_uppercase());
    let begins = letters.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic());
    begins && has_one_case && letters.len() <= LONGEST_WORD && digits <= MOST_DIGITS
}

fn is_bare_word(text: &str) -> bool {
    is_word(text) && text.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// A few words or small numbers: `client_credentials`, `us-east-1`, `no store`.
fn is_words(text: &str) -> bool {
    let is_small = |part: &str| part.len() <= MOST_DIGITS && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = text.split(['-', '_', '.', ' ', ',', ':', '/']).collect();
    parts.len() <= MOST_WORDS && parts.iter().all(|part| is_word(part) || is_small(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_learned(name: &str, value: &str) -> bool {
        learn_named(name, value);
        crate::redact(value) != value
    }

    #[test]
    fn a_name_makes_no_secret_of_an_ordinary_word() {
        for (name, value) in [
            ("AUTH_MODE", "oauth2"),
            ("AUTH_GRANT", "client_credentials"),
            ("TOKEN_TYPE", "Bearer"),
            ("KEY_ALGORITHM", "HS256"),
            ("SECRET_REGION", "us-east-1"),
            ("POSTGRES_PASSWORD", "postgres"),
            ("GIT_AUTHOR_NAME", "Ada Lovelace"),
            ("KEYBOARD", "pc105-de"),
            ("SSH_AUTH_SOCK", "/run/user/1000/agent.sock"),
            ("TOKEN_URL", "https://login.test/token"),
            ("TOKEN_TTL", "3600000"),
            ("AUTH_ENABLED", "true"),
        ] {
            assert!(!is_learned(name, value), "{name}={value}");
        }
    }

    #[test]
    fn what_a_name_calls_a_secret_is_hidden_if_it_looks_like_one() {
        for (name, value) in [
            ("OPENAI_API_KEY", "sk-proj-4f9Qm2"),
            ("GITHUB_TOKEN", "ghp_abcdefghijklmnopqrst"),
            ("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
            ("DB_PASSWORD", "hunter2"),
            ("DB_PASSWORD", "correct-horse-battery-staple"),
            ("SESSION_SECRET", "0f3a77aa31bd"),
            ("x-api-key", "zk29dkq0"),
            ("HOOK_TOKEN", "open-sesame-7f3kq"),
        ] {
            assert!(is_learned(name, value), "{name}={value}");
        }
    }
}
