//! `{name}` in a text stands for an argument.

use serde_json::Value;

pub(crate) enum Piece {
    Text(String),
    Argument(String),
}

/// A value as the text that a program or an address takes.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            value.to_string()
        }
    }
}

/// `{{` and `}}` stand for braces.
pub(crate) fn pieces(text: &str, parameters: &Value) -> Result<Vec<Piece>, String> {
    let (mut pieces, mut plain) = (Vec::new(), String::new());
    let mut remaining = text;
    while let Some(at) = remaining.find(['{', '}']) {
        plain.push_str(&remaining[..at]);
        let brace = &remaining[at..];
        if brace.starts_with("{{") || brace.starts_with("}}") {
            plain.push_str(&brace[..1]);
            remaining = &brace[2..];
            continue;
        }
        let name = brace.strip_prefix('{').and_then(|inside| inside.split_once('}'));
        let Some((name, behind)) = name else {
            return Err(format!("a brace in `{text}` has no partner; write it twice to mean itself"));
        };
        if parameters.get("properties").and_then(|properties| properties.get(name)).is_none() {
            return Err(format!(
                "`{{{name}}}` is not among the parameters; write `{{{{{name}}}}}` to mean the braces themselves"
            ));
        }
        if !plain.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut plain)));
        }
        pieces.push(Piece::Argument(name.to_owned()));
        remaining = behind;
    }
    plain.push_str(remaining);
    if !plain.is_empty() || pieces.is_empty() {
        pieces.push(Piece::Text(plain));
    }
    Ok(pieces)
}
