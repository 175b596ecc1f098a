//! The RFC 6902 patch from one shared state to the next.

use serde_json::{Value, json};

/// Operations that make `before` into `after`: members one by one, longer lists by appending, the rest by replacing.
pub(super) fn patch(before: &Value, after: &Value) -> Vec<Value> {
    let mut out = Vec::new();
    compare(before, after, &mut String::new(), &mut out);
    out
}

fn compare(before: &Value, after: &Value, path: &mut String, out: &mut Vec<Value>) {
    if before == after {
        return;
    }
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => {
            for name in old.keys().filter(|name| !new.contains_key(*name)) {
                out.push(json!({"op": "remove", "path": below(path, name)}));
            }
            for (name, value) in new {
                match old.get(name) {
                    None => out.push(json!({"op": "add", "path": below(path, name), "value": value})),
                    Some(old) => {
                        let length = path.len();
                        *path = below(path, name);
                        compare(old, value, path, out);
                        path.truncate(length);
                    }
                }
            }
        }
        (Value::Array(old), Value::Array(new)) if new.starts_with(old) => {
            for value in &new[old.len()..] {
                out.push(json!({"op": "add", "path": below(path, "-"), "value": value}));
            }
        }
        _ => out.push(json!({"op": "replace", "path": path.clone(), "value": after})),
    }
}

fn below(path: &str, name: &str) -> String {
    format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"))
}
