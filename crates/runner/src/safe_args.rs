//! Arguments of a tool call as `tool.started` shows them: without secrets and large values, bounded, and the same for
//! the same arguments.
//!
//! 1. A known secret becomes `[secret]`, wherever it is.
//! 2. So does the value of a member whose name has a word for a secret: `password`, `token`, `apiKey`, …; also where
//!    name and value are two members (`{"name": …, "value": …}`), two entries (`["--password", …]`) or in one string.
//! 3. So does what has the form of a credential in a string: see `credential`.
//! 4. A string of more than 512 characters keeps its first 256 and its size.
//! 5. A list or an object keeps its first 64 entries; below eight levels only its size is shown.
//! 6. After about 4 KiB, what is left of each list and object is only counted.

mod credential;

use credential::{is_name, is_option, names_a_secret, without_credentials};
use riverrun_secret::{HIDDEN, Redactor};
use serde_json::{Map, Value};

const MOST_BYTES: usize = 4096;
const MOST_CHARACTERS: usize = 512;
const VISIBLE_CHARACTERS: usize = 256;
const MOST_ENTRIES: usize = 64;
const MOST_DEPTH: usize = 8;
/// The name of the member that counts what an object has beyond what is shown.
const MORE: &str = "\u{2026}";
/// Members that name what the member `value` beside them is.
const NAMING: [&str; 4] = ["name", "key", "header", "field"];

pub(crate) fn safe_args(arguments: &Value, redactor: &Redactor) -> Value {
    let mut clean = arguments.clone();
    // Before anything is cut: half a secret is not recognised.
    redactor.json(&mut clean);
    clean = hidden(clean);
    Budget { left: MOST_BYTES }.value(&clean, 0)
}

/// The value without what looks like a credential.
fn hidden(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(without_credentials(&text)),
        Value::Array(list) => hidden_list(list),
        Value::Object(members) => hidden_object(members),
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

/// The entry behind a name that is an entry itself is hidden: `["--password", …]`, and a pair `["X-Api-Key", …]`.
fn hidden_list(list: Vec<Value>) -> Value {
    let is_pair = list.len() == 2;
    let mut is_named = false;
    let entry = |value: Value| {
        let is_naming = |text: &str| is_option(text) || (is_pair && !is_named && is_name(text));
        let names = value.as_str().is_some_and(is_naming);
        let shown = if is_named && is_secret_value(&value) { HIDDEN.into() } else { hidden(value) };
        is_named = names;
        shown
    };
    Value::Array(list.into_iter().map(entry).collect())
}

fn hidden_object(members: Map<String, Value>) -> Value {
    let naming = |name: &&str| members.get(*name).and_then(Value::as_str).is_some_and(names_a_secret);
    let is_named = members.contains_key("value") && NAMING.iter().any(naming);
    let member = |(name, value): (String, Value)| {
        let is_secret = names_a_secret(&name) || (is_named && name == "value");
        let shown = if is_secret && is_secret_value(&value) { HIDDEN.into() } else { hidden(value) };
        (without_credentials(&name), shown)
    };
    Value::Object(members.into_iter().map(member).collect())
}

/// False for what cannot hold one.
fn is_secret_value(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(_))
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
            let value = self.value(value, depth + 1);
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
                let most = VISIBLE_CHARACTERS.min(self.left);
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
    fn a_name_and_its_value_may_be_apart() {
        check(
            json!({"headers": [{"name": "Authorization", "value": "x"}, {"name": "Accept", "value": "y"}]}),
            json!({"headers": [{"name": "Authorization", "value": "[secret]"}, {"name": "Accept", "value": "y"}]}),
        );
        check(
            json!([["X-Api-Key", "x"], ["Accept", "y"]]),
            json!([["X-Api-Key", "[secret]"], ["Accept", "y"]]),
        );
        check(
            json!({"argv": ["login", "--password", "x", "--user", "me"]}),
            json!({"argv": ["login", "--password", "[secret]", "--user", "me"]}),
        );
        check(
            json!({"headers": ["Authorization: Basic eDp5"]}),
            json!({"headers": ["Authorization: [secret]"]}),
        );
        check(json!({"url": "https://me:pass@h/"}), json!({"url": "https://me:[secret]@h/"}));
        check(json!({"sk-abcdefgh12345678": 1}), json!({"[secret]": 1}));
        check(json!({"names": ["password", "email", "id"]}), json!({"names": ["password", "email", "id"]}));
    }

    #[test]
    fn a_secret_is_hidden_before_its_string_is_cut() {
        let text = format!("{}sesame-open-1234{}", "x".repeat(VISIBLE_CHARACTERS - 6), "y".repeat(600));
        let shown = safe_args(&json!(text), &Redactor::new(&["sesame-open-1234".to_owned()]));
        assert!(!shown.to_string().contains("sesame"), "{shown}");
    }

    #[test]
    fn large_values_keep_their_beginning_and_their_size() {
        let shown = format!("{}\u{2026} [2000 bytes]", "\u{e9}".repeat(VISIBLE_CHARACTERS));
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
