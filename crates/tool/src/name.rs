//! Names that every model service takes.

/// The longest name that the services agree on.
pub const MAX_NAME: usize = 64;

/// Letters, digits, `_` and `-`, at most 64: anything else is refused by a service, or fools a person who approves.
pub fn is_valid_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !name.is_empty() && name.len() <= MAX_NAME && name.bytes().all(is_plain)
}

/// The name for an error text: short, and with nothing in it that a terminal would act upon.
pub(crate) fn shown(name: &str) -> String {
    let mut shown: String = name.chars().take(MAX_NAME).flat_map(char::escape_default).collect();
    if name.chars().nth(MAX_NAME).is_some() {
        shown.push('…');
    }
    shown
}

/// The known name that is nearest to the wrong one, if any is near.
pub(crate) fn nearest<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wrong: Vec<char> = wrong.chars().take(MAX_NAME).flat_map(char::to_lowercase).collect();
    let limit = (wrong.len() / 3).max(1);
    known
        .map(|name| (distance(&wrong, &name.to_lowercase().chars().collect::<Vec<_>>()), name))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// How many letters must be put in, taken out or changed.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, right) in b.iter().enumerate() {
            let changed = diagonal + usize::from(left != right);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_anything_unusual_are_refused() {
        assert!(is_valid_name("files__read-2"));
        for name in ["", "a b", "a\u{202e}b", "à", "a.b", "\u{1b}]52;", &"x".repeat(65)] {
            assert!(!is_valid_name(name), "{name:?}");
        }
        assert_eq!(shown("a\u{1b}"), "a\\u{1b}");
    }

    #[test]
    fn the_nearest_name_is_suggested_if_it_is_near() {
        let known = ["get_weather", "search", "read_file"];
        assert_eq!(nearest("get_wether", known.into_iter()), Some("get_weather"));
        assert_eq!(nearest("Serch", known.into_iter()), Some("search"));
        assert_eq!(nearest("delete", known.into_iter()), None);
        assert_eq!(nearest("", known.into_iter()), None);
    }
}
