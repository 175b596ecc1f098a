//! An address with places for arguments.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::placeholder::{Piece, pieces, plain};

/// In the path and the query every value is escaped; the host is the operator's alone. `{url}` alone is an address
/// that the model chooses as a whole.
pub(super) struct Template {
    base: Vec<Piece>,
    query: Vec<(String, Vec<Piece>)>,
    is_whole: bool,
}

impl Template {
    pub fn new(url: &str, parameters: &Value) -> Result<Self, String> {
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let base = pieces(base, parameters)?;
        let is_whole = matches!(base.as_slice(), [Piece::Argument(_)]);
        let origin_ends = |text: &str| text.split_once("://").is_some_and(|(_, unused)| unused.contains('/'));
        let host_is_fixed = match base.as_slice() {
            [Piece::Text(_)] => true,
            [Piece::Text(first), ..] => origin_ends(first),
            [] | [Piece::Argument(_), ..] => false,
        };
        if !is_whole && !host_is_fixed {
            return Err("the host cannot hold an argument of the model".to_owned());
        }
        let mut pairs = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            pairs.push((name.to_owned(), pieces(value, parameters)?));
        }
        Ok(Self { base, query: pairs, is_whole })
    }

    /// The address, and the arguments that it did not use.
    pub fn fill(&self, arguments: &Value) -> Result<(String, Map<String, Value>), String> {
        let mut unused = arguments.as_object().cloned().unwrap_or_default();
        let mut used = BTreeSet::new();
        let mut url = String::new();
        for piece in &self.base {
            match piece {
                Piece::Text(text) => url.push_str(text),
                Piece::Argument(name) => {
                    let value = unused.get(name).map(plain).unwrap_or_default();
                    used.insert(name.clone());
                    if self.is_whole {
                        url.push_str(&value);
                    } else {
                        url.push_str(&segment(name, &value)?);
                    }
                }
            }
        }
        let mut query: Vec<String> = Vec::new();
        for (name, value) in &self.query {
            query.extend(pair(name, value, &unused, &mut used));
        }
        add_query(&mut url, &query);
        unused.retain(|name, _| !used.contains(name));
        Ok((url, unused))
    }
}

fn segment(name: &str, value: &str) -> Result<String, String> {
    match value {
        "" => Err(format!("needs `{name}` for its address")),
        "." | ".." => Err(format!("cannot take `{value}` as `{name}`: it would change the path")),
        value => Ok(escape(value)),
    }
}

/// None if an argument is absent.
fn pair(
    name: &str,
    value: &[Piece],
    arguments: &Map<String, Value>,
    used: &mut BTreeSet<String>,
) -> Option<String> {
    let mut text = format!("{name}=");
    for piece in value {
        match piece {
            Piece::Text(piece) => text.push_str(piece),
            Piece::Argument(name) => {
                used.insert(name.clone());
                text.push_str(&escape(&plain(arguments.get(name).filter(|value| !value.is_null())?)));
            }
        }
    }
    Some(text)
}

pub(super) fn add_query(url: &mut String, pairs: &[String]) {
    for pair in pairs {
        url.push(if url.contains('?') { '&' } else { '?' });
        url.push_str(pair);
    }
}

pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(url: &str, arguments: Value) -> Result<String, String> {
        let parameters = json!({"properties": {"id": {}, "q": {}, "url": {}}});
        Template::new(url, &parameters)?
            .fill(&arguments)
            .map(|(url, unused)| format!("{url} {}", Value::Object(unused)))
    }

    #[test]
    fn values_are_escaped_and_other_text_is_unchanged() {
        let filled =
            check("https://a.test/v1/{id}/x?q={q}&k=1", json!({"id": "a/b?c#d", "q": "Huế &=", "url": 1}));
        assert_eq!(
            filled.unwrap(),
            "https://a.test/v1/a%2Fb%3Fc%23d/x?q=Hu%E1%BA%BF%20%26%3D&k=1 {\"url\":1}"
        );
        assert_eq!(check("https://a.test/x?q={q}&k=1", json!({})).unwrap(), "https://a.test/x?k=1 {}");
        assert_eq!(check("{url}", json!({"url": "https://b.test/?a=b"})).unwrap(), "https://b.test/?a=b {}");
    }

    #[test]
    fn the_path_and_the_host_stay_the_operator_s() {
        assert!(check("https://a.test/v1/{id}", json!({"id": ".."})).unwrap_err().contains("path"));
        assert!(check("https://a.test/v1/{id}", json!({})).unwrap_err().contains("needs `id`"));
        for url in ["https://{id}/x", "https://{id}.a.test/x", "https://a.test:{id}/x", "{url}/x", "{id}{q}"]
        {
            assert!(check(url, json!({"id": "x"})).unwrap_err().contains("host"), "{url}");
        }
    }
}
