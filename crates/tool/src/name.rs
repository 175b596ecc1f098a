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
}
