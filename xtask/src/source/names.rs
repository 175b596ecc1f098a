//! Names of types, and words in identifiers.

use std::collections::{BTreeMap, BTreeSet};

use super::{code_lines, package};
use crate::files::File;

/// Words that only this code used for what has a usual name.
pub const BANNED_WORDS: &[&str] = &[
    "told", "tell", "tells", "telling", "teller", "said", "say", "says", "saying", "kept", "stands", "rest",
    "rests", "breath", "breathe",
];

/// Names that mean nothing without another word, such as `Position` of what.
pub const BANNED_NAMES: &[&str] = &["place", "places"];

#[derive(Default)]
pub struct Names {
    /// Public type names with more than one definition, and the packages of these definitions.
    pub public_duplicates: BTreeMap<String, Vec<String>>,
    /// How often each banned word or name occurs.
    pub banned: BTreeMap<&'static str, usize>,
    /// The identifiers with a banned word, by package.
    pub banned_identifiers: BTreeMap<String, BTreeSet<String>>,
    types: usize,
    shared: usize,
}

impl Names {
    pub fn shared_percent(&self) -> usize {
        self.shared * 100 / self.types.max(1)
    }

    fn add_identifier(&mut self, package: &str, identifier: &str) {
        for word in banned_words(identifier) {
            *self.banned.entry(word).or_default() += 1;
            let identifiers = self.banned_identifiers.entry(package.to_owned()).or_default();
            identifiers.insert(identifier.to_owned());
        }
    }
}

pub fn count(files: &[&File]) -> Names {
    let (mut all, mut public) = (BTreeMap::<String, usize>::new(), BTreeMap::<String, Vec<String>>::new());
    let mut names = Names::default();
    for file in files {
        let package = package(&file.path).unwrap_or_default();
        for line in code_lines(&file.text) {
            if let Some((name, is_public)) = defined(line) {
                *all.entry(name.to_owned()).or_default() += 1;
                if is_public {
                    public.entry(name.to_owned()).or_default().push(package.to_owned());
                }
            }
            identifiers(line).for_each(|identifier| names.add_identifier(package, identifier));
        }
    }
    names.types = all.values().sum();
    names.shared = all.values().filter(|count| **count > 1).sum();
    names.public_duplicates = public.into_iter().filter(|(_, packages)| packages.len() > 1).collect();
    names
}

fn banned_words(identifier: &str) -> Vec<&'static str> {
    let words = words(identifier);
    let found = BANNED_WORDS.iter().copied().filter(|banned| words.iter().any(|word| word == banned));
    let bare = BANNED_NAMES.iter().copied().filter(|banned| words.len() == 1 && words[0] == **banned);
    found.chain(bare).collect()
}

/// The type that a line defines, and whether it is public.
fn defined(line: &str) -> Option<(&str, bool)> {
    let line = line.trim_start();
    let (line, is_public) = match line.strip_prefix("pub ") {
        Some(after) => (after, true),
        None if line.starts_with("pub(") => (line.split_once(") ")?.1, false),
        None => (line, false),
    };
    let after = ["struct ", "enum ", "trait ", "type "].iter().find_map(|kind| line.strip_prefix(kind))?;
    let name = after.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    name.starts_with(char::is_uppercase).then_some((name, is_public))
}

/// Identifiers of a line, without its comment and its string literals.
fn identifiers(line: &str) -> impl Iterator<Item = &str> {
    let code = line.split_once("//").map_or(line, |(code, _)| code);
    // A raw string with quotes inside it ends at `"#`.
    let (code, behind) = code
        .split_once("r#\"")
        .map_or((code, ""), |(code, raw)| (code, raw.split_once("\"#").map_or("", |(_, behind)| behind)));
    let outside = code.split('"').step_by(2).chain(behind.split('"').step_by(2));
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    outside.flat_map(move |code| code.split(move |c| !is_part(c))).filter(|word| !word.is_empty())
}

/// The words of `snake_case` and `CamelCase`, in lower case.
fn words(identifier: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_upper = true;
    for c in identifier.chars() {
        if c == '_' || (c.is_ascii_uppercase() && !was_upper) {
            words.push(String::new());
        }
        was_upper = c.is_ascii_uppercase();
        if c != '_' {
            words.iter_mut().last().into_iter().for_each(|word| word.push(c.to_ascii_lowercase()));
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_defined_twice_and_banned_words_are_counted() {
        let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
        let files = [
            file("crates/a/src/a.rs", "pub struct Page;\nenum Found {}\nlet was_told = 1; // told\n"),
            file(
                "crates/b/src/b.rs",
                "pub struct Page(u8);\npub(crate) type Found = u8;\nlet x = \"told\";\nlet y = r#\"{\"said\": 1}\"#;\nstruct ToldAll;",
            ),
        ];
        let names = count(&files.iter().collect::<Vec<_>>());
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(names.public_duplicates, BTreeMap::from([("Page".to_owned(), owned(&["a", "b"]))]));
        assert_eq!(names.banned, BTreeMap::from([("told", 2)]));
        assert_eq!(names.banned_identifiers["b"], BTreeSet::from(["ToldAll".to_owned()]));
        assert_eq!(names.shared_percent(), 80);
    }

    #[test]
    fn a_place_is_banned_only_without_another_word() {
        assert_eq!(banned_words("_place"), ["place"]);
        assert_eq!(banned_words("Place"), ["place"]);
        assert!(banned_words("place_name").is_empty() && banned_words("placeholder").is_empty());
        assert_eq!(banned_words("as_told_before"), ["told"]);
    }
}
