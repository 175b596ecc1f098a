//! The one set of this process.

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, RwLock};

use riverrun_log::seeded::{self, Bug};

use crate::forms::SHORTEST;
use crate::redactor::Redactor;

/// The oldest values are forgotten beyond these bounds; a secret that changes every minute does not fill the memory.
const MOST_VALUES: usize = 1024;
const LONGEST: usize = 64 * 1024;

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

/// Learns a value of a variable or header that may be a secret: one whose name says so, unless it is plainly
/// something else.
pub fn learn_named(name: &str, value: &str) {
    learn_url(value);
    if names_a_secret(name) && !is_ordinary(value) {
        learn(value);
    }
}

/// Learns a value that the configuration refers to as a secret, unless it is plainly something else: `{ env = "HOME" }`
/// is no reason to hide a path everywhere.
pub fn learn_referred(value: &str) {
    learn_url(value);
    let is_word = value.len() <= 12 && value.bytes().all(|byte| byte.is_ascii_lowercase());
    if !is_ordinary(value) && !is_word {
        learn(value);
    }
}

/// Learns what an address holds to be let in: its user and password, and values of its query that are named like
/// secrets.
pub fn learn_url(url: &str) {
    let Some((_, rest)) = url.split_once("://") else { return };
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    if let Some((user, _)) = authority.rsplit_once('@') {
        learn(user);
        if let Some((_, password)) = user.split_once(':') {
            learn(password);
            learn(&decoded(password));
        }
    }
    let query = rest.split_once('?').map_or("", |(_, query)| query);
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

/// A path, an address, a number or a switch: hiding it everywhere would hide ordinary text.
fn is_ordinary(value: &str) -> bool {
    let is_number = value.len() < 12 && value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let is_address = value.contains("://") && !value.contains('@');
    value.starts_with(['/', '.', '~']) || is_address || is_number
}
