//! Arguments of a tool call as `tool.started` shows them: without secrets and large values, bounded, and the same for
//! the same arguments.
//!
//! 1. A known secret becomes `[secret]`, wherever it is.
//! 2. So does the value of a member whose name has a word for a secret: `password`, `token`, `apiKey`, ….
//! 3. A string of more than 512 characters keeps its first 256 and its size.
//! 4. A list or an object keeps its first 64 entries; below eight levels only its size is shown.
//! 5. After about 4 KiB, what is left of each list and object is only counted.

use riverrun_secret::{HIDDEN, Redactor};
use serde_json::{Map, Value};

const MOST_BYTES: usize = 4096;
const MOST_CHARACTERS: usize = 512;
const KEPT_CHARACTERS: usize = 256;
const MOST_ENTRIES: usize = 64;
const MOST_DEPTH: usize = 8;
/// The name of the member that counts what an object has beyond what is shown.
const MORE: &str = "\u{2026}";

/// One word of a name that usually holds a secret, or two words that do so together.
const SECRET_WORDS: [&str; 11] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "credential",
    "credentials",
    "authorization",
    "cookie",
    "apikey",
    "jwt",
];
const SECRET_PAIRS: [(&str, &str); 4] =
    [("api", "key"), ("private", "key"), ("access", "key"), ("secret", "key")];

pub(crate) fn safe_args(arguments: &Value, redactor: &Redactor) -> Value {
    let mut clean = arguments.clone();
    // Before anything is cut: half a secret is not recognised.
    redactor.json(&mut clean);
    Budget { left: MOST_BYTES }.value(&clean, 0)
}

/// The bytes that may still be shown.
struct Budget {
    left: usize,
}

impl Budget {
    fn value(&mut self, value: &Value, depth: usize) -> Value {
        match value {
            Value::String(text) => self.text(text),
            Value::Array(list) if depth >= MOST_DEPTH => {
                self.text(&format!("\u{2026} [{} entries]", list.len()))
            }
            Value::Object(members) if depth >= MOST_DEPTH => {
                self.text(&format!("\u{2026} [{} members]", members.len()))
            }
            Value::Array(list) => self.list(list, depth),
            Value::Object(members) => self.object(members, depth),
            Value::Null | Value::Bool(_) | Value::Number(_) => {
                self.spend(value.to_string().len());
                value.clone()
            }
        }
    }

    fn list(&mut self, list: &[Value], depth: usize) -> Value {
        let mut shown = Vec::new();
        for (index, entry) in list.iter().enumerate() {
            if index == MOST_ENTRIES || self.left == 0 {
                shown.push(format!("\u{2026} [{} more]", list.len() - index).into());
                break;
            }
            shown.push(self.value(entry, depth + 1));
        }
        Value::Array(shown)
    }

    fn object(&mut self, members: &Map<String, Value>, depth: usize) -> Value {
        let mut shown = Map::new();
        for (index, (name, value)) in members.iter().enumerate() {
            if index == MOST_ENTRIES || self.left == 0 {
                shown.insert(MORE.to_owned(), format!("{} more", members.len() - index).into());
                break;
            }
            let value = match value {
                Value::Null | Value::Bool(_) => value.clone(),
                _ if names_a_secret(name) => HIDDEN.into(),
                _ => self.value(value, depth + 1),
            };
            shown.insert(self.cut(name), value);
        }
        Value::Object(shown)
    }

    fn text(&mut self, text: &str) -> Value {
        Value::String(self.cut(text))
    }

    /// The text, or its beginning and its size.
    fn cut(&mut self, text: &str) -> String {
        let is_long = text.char_indices().nth(MOST_CHARACTERS).is_some();
        let shown = match is_long || text.len() > self.left {
            true => {
                let most = KEPT_CHARACTERS.min(self.left);
                let start: String = text.chars().take(most).collect();
                format!("{start}\u{2026} [{} bytes]", text.len())
            }
            false => text.to_owned(),
        };
        self.spend(written_size(&shown));
        shown
    }

    fn spend(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(bytes);
    }
}

/// The bytes of a string as JSON.
fn written_size(text: &str) -> usize {
    let size = |byte: u8| match byte {
        0..0x20 => 6,
        b'"' | b'\\' => 2,
        _ => 1,
    };
    text.bytes().map(size).sum::<usize>() + 2
}

/// `apiKey`, `api_key`, `X-Api-Key` and `DB_PASSWORD` have such words; `max_tokens`, `key` and `author` have not.
fn names_a_secret(name: &str) -> bool {
    let words = words(name);
    let is_word = |word: &String| SECRET_WORDS.contains(&word.as_str());
    let is_pair = |pair: &[String]| SECRET_PAIRS.contains(&(pair[0].as_str(), pair[1].as_str()));
    words.iter().any(is_word) || words.windows(2).any(is_pair)
}

/// The words of a name in camelCase, snake_case or kebab-case, in lower case.
fn words(name: &str) -> Vec<String> {
    let (mut words, mut word, mut was_lower) = (Vec::new(), String::new(), false);
    // A longer name is no name.
    for character in name.chars().take(128) {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(arguments: Value, expected: Value) {
        let redactor = Redactor::new(&["sesame-open-1234".to_owned()]);
        assert_eq!(safe_args(&arguments, &redactor), expected);
    }

    #[test]
    fn ordinary_arguments_are_shown_as_they_are() {
        let arguments = json!({"path": "README.md", "lines": [1, 2], "deep": {"a": null, "b": true}});
        check(arguments.clone(), arguments);
    }

    #[test]
    fn secrets_are_hidden_by_value_and_by_name() {
        check(json!({"q": "say sesame-open-1234 now"}), json!({"q": "say [secret] now"}));
        for name in ["password", "apiKey", "api_key", "X-Api-Key", "DB_PASSWORD", "accessToken", "Cookie"] {
            check(json!({name: "x"}), json!({name: "[secret]"}));
            check(json!({"in": [{name: {"a": 1}}]}), json!({"in": [{name: "[secret]"}]}));
        }
        for name in ["max_tokens", "key", "author", "keyboard", "authority", "tokens"] {
            check(json!({name: "x"}), json!({name: "x"}));
        }
    }

    #[test]
    fn a_secret_is_hidden_before_its_string_is_cut() {
        let text = format!("{}sesame-open-1234{}", "x".repeat(KEPT_CHARACTERS - 6), "y".repeat(600));
        let shown = safe_args(&json!(text), &Redactor::new(&["sesame-open-1234".to_owned()]));
        assert!(!shown.to_string().contains("sesame"), "{shown}");
    }

    #[test]
    fn large_values_keep_their_beginning_and_their_size() {
        let shown = format!("{}\u{2026} [2000 bytes]", "\u{e9}".repeat(KEPT_CHARACTERS));
        check(json!({"text": "\u{e9}".repeat(1000)}), json!({"text": shown}));
        let mut list = vec![json!(0); MOST_ENTRIES];
        list.push("\u{2026} [36 more]".into());
        check(json!(vec![0; 100]), Value::Array(list));
        let nested = (0..12).fold(json!(1), |inner, _| json!([inner]));
        let expected = (0..MOST_DEPTH).fold(json!("\u{2026} [1 entries]"), |inner, _| json!([inner]));
        check(nested, expected);
    }

    #[test]
    fn whatever_the_arguments_are_what_is_shown_is_bounded_and_repeatable() {
        let redactor = Redactor::new(&[]);
        let wide: Map<String, Value> =
            (0..1000).map(|number| (format!("{number:0>600}"), json!("\u{1}".repeat(600)))).collect();
        let deep = (0..6).fold(json!("x".repeat(400)), |inner, _| json!(vec![inner; 9]));
        for arguments in [Value::Object(wide), deep, json!("\u{1}".repeat(1 << 20))] {
            let shown = safe_args(&arguments, &redactor).to_string();
            assert!(shown.len() < 4 * MOST_BYTES, "{} bytes", shown.len());
            assert_eq!(shown, safe_args(&arguments, &redactor).to_string());
        }
    }
}
