//! A command line with places for arguments.

use serde_json::Value;

use crate::placeholder::{Piece, pieces, plain};

/// Every element stays one argument of the program, whatever the value holds; `{name}` alone may also be a list,
/// which becomes one argument for each of its values, or absent, which becomes none.
pub(super) struct Template {
    elements: Vec<Element>,
}

struct Element {
    pieces: Vec<Piece>,
    /// Behind `--` a value cannot be mistaken for an option.
    after_dashes: bool,
}

impl Template {
    pub fn new(argv: &[String], parameters: &Value) -> Result<Self, String> {
        let mut elements: Vec<Element> = Vec::new();
        let mut after_dashes = false;
        for text in argv {
            elements.push(Element { pieces: pieces(text, parameters)?, after_dashes });
            after_dashes |= text == "--";
        }
        match elements.first().map(|element| element.pieces.as_slice()) {
            Some([Piece::Text(_)]) => Ok(Self { elements }),
            Some(_) => Err("the program itself cannot be an argument of the model".to_owned()),
            None => Err("it is empty; it needs at least a program".to_owned()),
        }
    }

    pub fn fill(&self, arguments: &Value) -> Result<Vec<String>, String> {
        let mut argv = Vec::with_capacity(self.elements.len());
        for element in &self.elements {
            element.fill(arguments, &mut argv)?;
        }
        match argv.iter().find(|argument| argument.contains('\0')) {
            Some(_) => Err("cannot take an argument with a NUL character".to_owned()),
            None => Ok(argv),
        }
    }
}

impl Element {
    fn fill(&self, arguments: &Value, argv: &mut Vec<String>) -> Result<(), String> {
        if let [Piece::Argument(name)] = self.pieces.as_slice() {
            return match arguments.get(name) {
                None | Some(Value::Null) => Ok(()),
                Some(Value::Array(values)) => {
                    values.iter().try_for_each(|value| self.push_whole(name, value, argv))
                }
                Some(value) => self.push_whole(name, value, argv),
            };
        }
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(piece) => text.push_str(piece),
                Piece::Argument(name) => match arguments.get(name) {
                    // `--limit={limit}` without a limit is left out as a whole.
                    None | Some(Value::Null) => return Ok(()),
                    Some(value) => text.push_str(&plain(value)),
                },
            }
        }
        argv.push(text);
        Ok(())
    }

    fn push_whole(&self, name: &str, value: &Value, argv: &mut Vec<String>) -> Result<(), String> {
        let text = plain(value);
        if text.starts_with('-') && !value.is_number() && !self.after_dashes {
            return Err(format!(
                "cannot take `{name}` with a value that starts with `-`: it would be read as an option"
            ));
        }
        argv.push(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(argv: &[&str], arguments: Value) -> Result<Vec<String>, String> {
        let argv: Vec<String> = argv.iter().map(|text| (*text).to_owned()).collect();
        let parameters = json!({"properties": {"q": {}, "n": {}, "files": {}}});
        Template::new(&argv, &parameters)?.fill(&arguments)
    }

    #[test]
    fn a_value_stays_one_argument() {
        let hostile = "a b; rm -rf / $(x) `y` \"z\" 'w' * \n";
        assert_eq!(check(&["grep", "{q}"], json!({"q": hostile})).unwrap(), ["grep", hostile]);
        assert_eq!(check(&["f", "--q={q}"], json!({"q": "-x y"})).unwrap(), ["f", "--q=-x y"]);
        assert_eq!(check(&["f", "{q}"], json!({"q": ""})).unwrap(), ["f", ""]);
        assert_eq!(check(&["f", "{{{q}}}"], json!({"q": "{n}"})).unwrap(), ["f", "{{n}}"]);
    }

    #[test]
    fn lists_numbers_and_absent_values() {
        let arguments = json!({"files": ["a", "b c"], "n": -3});
        let argv = check(&["f", "{n}", "--n={n}", "{q}", "--q={q}", "{files}"], arguments).unwrap();
        assert_eq!(argv, ["f", "-3", "--n=-3", "a", "b c"]);
    }

    #[test]
    fn an_option_cannot_be_smuggled_in() {
        assert!(check(&["git", "log", "{q}"], json!({"q": "--output=/x"})).unwrap_err().contains("option"));
        assert!(check(&["ls", "{files}"], json!({"files": ["a", "-R"]})).unwrap_err().contains("`files`"));
        assert_eq!(check(&["ls", "--", "{q}"], json!({"q": "-R"})).unwrap(), ["ls", "--", "-R"]);
        assert!(check(&["f", "{q}"], json!({"q": "a\0b"})).unwrap_err().contains("NUL"));
    }

    #[test]
    fn a_wrong_template_is_reported_at_once() {
        assert!(check(&["{q}"], json!({})).unwrap_err().contains("program itself"));
        assert!(check(&[], json!({})).unwrap_err().contains("empty"));
        assert!(check(&["f", "{nope}"], json!({})).unwrap_err().contains("`{nope}`"));
        assert!(check(&["f", "{q"], json!({})).unwrap_err().contains("partner"));
    }
}
