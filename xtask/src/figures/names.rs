//! Names of types, and words in identifiers.

use std::collections::BTreeMap;

use crate::files::File;

/// Words that only this code used for what has a usual name.
const PRIVATE_WORDS: &[&str] =
    &["told", "said", "tell", "say", "kept", "stands", "breath", "breathe", "place"];

#[derive(Default)]
pub struct Names {
    /// Public names, with the files that define them, if there are several.
    pub public_duplicates: BTreeMap<String, Vec<String>>,
    pub private_words: BTreeMap<&'static str, usize>,
    types: usize,
    shared: usize,
}

impl Names {
    pub fn shared_percent(&self) -> usize {
        self.shared * 100 / self.types.max(1)
    }
}

pub fn count(files: &[&File]) -> Names {
    let (mut all, mut public) =
        (BTreeMap::<String, Vec<String>>::new(), BTreeMap::<String, Vec<String>>::new());
    let mut names = Names::default();
    for file in files {
        for line in file.text.lines().take_while(|line| line.trim() != "#[cfg(test)]") {
            if let Some((name, is_public)) = defined(line) {
                all.entry(name.to_owned()).or_default().push(file.path.clone());
                if is_public {
                    public.entry(name.to_owned()).or_default().push(file.path.clone());
                }
            }
            for word in identifiers(line).flat_map(words) {
                if let Some(known) = PRIVATE_WORDS.iter().find(|known| **known == word) {
                    *names.private_words.entry(known).or_default() += 1;
                }
            }
        }
    }
    names.types = all.values().map(Vec::len).sum();
    names.shared = all.values().map(Vec::len).filter(|count| *count > 1).sum();
    names.public_duplicates = public.into_iter().filter(|(_, files)| files.len() > 1).collect();
    names
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
    let outside = code.split('"').step_by(2);
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
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_defined_twice_and_private_words_are_counted() {
        let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
        let files = [
            file("a.rs", "pub struct Page;\nenum Found {}\nlet was_told = 1; // told\n"),
            file(
                "b.rs",
                "pub struct Page(u8);\npub(crate) type Found = u8;\nlet x = \"told\";\nstruct ToldAll;",
            ),
        ];
        let names = count(&files.iter().collect::<Vec<_>>());
        assert_eq!(names.public_duplicates.keys().collect::<Vec<_>>(), ["Page"]);
        assert_eq!(names.private_words, BTreeMap::from([("told", 2)]));
        assert_eq!(names.shared_percent(), 80);
    }
}
