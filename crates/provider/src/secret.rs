//! Keys, and how they stay out of everything that is written.

use std::fmt;
use std::path::PathBuf;

use serde::Deserialize;

/// Where a key is. There is no way to write one into the configuration itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum SecretSource {
    /// An environment variable.
    Env(String),
    /// A file; white space around the key is cut off.
    File(PathBuf),
}

/// A key. It can be used, and never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct ProviderKey(String);

/// Shorter ones are not looked for: they would be found everywhere.
const SHORTEST_SCRUBBED: usize = 6;
const HIDDEN: &str = "[key]";

impl SecretSource {
    /// The error names the source, never what is in it.
    pub fn read(&self) -> Result<ProviderKey, String> {
        let (text, source) = match self {
            SecretSource::Env(name) => {
                let text = riverrun_secret::variable(name);
                let text = text.ok_or_else(|| format!("environment variable `{name}` is not set"))?;
                (text, format!("environment variable `{name}`"))
            }
            SecretSource::File(path) => {
                let source = format!("key file `{}`", path.display());
                let text = std::fs::read_to_string(path)
                    .map_err(|error| format!("{source} cannot be read: {error}"))?;
                (text, source)
            }
        };
        let secret = ProviderKey::new(&text).map_err(|reason| format!("{source} {reason}"))?;
        riverrun_secret::learn(&secret.0);
        Ok(secret)
    }
}

impl ProviderKey {
    pub fn new(text: &str) -> Result<Self, &'static str> {
        let text = text.trim();
        match text {
            "" => Err("is empty; put the key there"),
            _ if !text.bytes().all(|byte| byte.is_ascii_graphic()) => {
                Err("holds characters that no key has; check that it is the key alone")
            }
            _ => Ok(Self(text.to_owned())),
        }
    }

    /// For the one header that carries it.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// The text without the key, should a service have repeated it.
    pub fn scrub(&self, text: &str) -> String {
        match self.0.len() >= SHORTEST_SCRUBBED {
            true => text.replace(&self.0, HIDDEN),
            false => text.to_owned(),
        }
    }

    pub(crate) fn scrub_bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        let key = self.0.as_bytes();
        if key.len() < SHORTEST_SCRUBBED || !bytes.windows(key.len()).any(|window| window == key) {
            return bytes;
        }
        let mut out = Vec::with_capacity(bytes.len());
        let mut at = 0;
        while at < bytes.len() {
            if bytes[at..].starts_with(key) {
                out.extend_from_slice(HIDDEN.as_bytes());
                at += key.len();
            } else {
                out.push(bytes[at]);
                at += 1;
            }
        }
        out
    }
}

/// All that a provider sends and nobody may read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Secrets(std::sync::Arc<Vec<ProviderKey>>);

impl Secrets {
    /// The key, and the words of headers: `Bearer` in front of one is no secret.
    pub fn new<'a>(key: Option<&ProviderKey>, headers: impl Iterator<Item = &'a str>) -> Self {
        let words = headers.flat_map(str::split_whitespace).filter(|word| word.len() >= SHORTEST_SCRUBBED);
        let schemes = ["Bearer", "bearer"];
        let words = words.filter(|word| !schemes.contains(word)).map(|word| ProviderKey(word.to_owned()));
        let mut all: Vec<ProviderKey> = key.cloned().into_iter().chain(words).collect();
        all.iter().for_each(|secret| riverrun_secret::learn(&secret.0));
        // None is cut by another that it holds.
        all.sort_by_key(|secret| std::cmp::Reverse(secret.0.len()));
        Self(all.into())
    }

    /// Its own secrets first, then whatever else the process knows.
    pub fn scrub(&self, text: &str) -> String {
        let text = self.0.iter().fold(text.to_owned(), |text, secret| secret.scrub(&text));
        riverrun_secret::known().text(&text).into_owned()
    }

    pub fn scrub_bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        let bytes = self.0.iter().fold(bytes, |bytes, secret| secret.scrub_bytes(bytes));
        riverrun_secret::known().bytes(&bytes).into_owned()
    }
}

impl fmt::Debug for ProviderKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

impl fmt::Display for ProviderKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_shown() {
        let key = ProviderKey::new("sk-canary-123\n").unwrap();
        assert_eq!(format!("{key} {key:?}"), "[key] [key]");
        assert_eq!(key.scrub("bad key sk-canary-123!"), "bad key [key]!");
        assert_eq!(key.scrub_bytes(b"a sk-canary-123 b".to_vec()), b"a [key] b");
    }

    #[test]
    fn headers_are_hidden_with_the_key_and_without_their_scheme() {
        let key = ProviderKey::new("sk-canary-123").unwrap();
        let secrets = Secrets::new(Some(&key), ["Bearer sk-canary-123-long", "no"].into_iter());
        assert_eq!(secrets.scrub("Bearer sk-canary-123-long sk-canary-123 no"), "Bearer [key] [key] no");
    }

    #[test]
    fn a_source_that_gives_no_key_is_named() {
        let absent = SecretSource::Env("RIVERRUN_NO_SUCH_KEY".to_owned()).read().unwrap_err();
        assert_eq!(absent, "environment variable `RIVERRUN_NO_SUCH_KEY` is not set");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, "two words\n").unwrap();
        let wrong = SecretSource::File(path.clone()).read().unwrap_err();
        assert!(wrong.contains("characters that no key has") && !wrong.contains("two words"), "{wrong}");
        std::fs::write(&path, "  good-key \n").unwrap();
        assert_eq!(SecretSource::File(path).read().unwrap().expose(), "good-key");
    }
}
