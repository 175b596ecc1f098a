//! The difference between two JSON values, by JSON pointers.

use serde_json::{Map, Value};

/// What must be set and dropped to make `to` of `from`.
pub(super) fn difference(
    from: &Value,
    to: &Value,
    path: &mut String,
    set: &mut Map<String, Value>,
    drop: &mut Vec<String>,
) {
    match (from, to) {
        (Value::Object(before), Value::Object(after)) => {
            for (name, value) in after {
                let known = before.get(name);
                inside(path, name, |path| match known {
                    Some(known) => difference(known, value, path, set, drop),
                    None => put(set, path, value),
                });
            }
            for name in before.keys().filter(|name| !after.contains_key(*name)) {
                inside(path, name, |path| drop.push(path.clone()));
            }
        }
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
            for (index, (before, after)) in before.iter().zip(after).enumerate() {
                inside(path, &index.to_string(), |path| difference(before, after, path, set, drop));
            }
        }
        (before, after) if before == after => {}
        (_, after) => put(set, path, after),
    }
}

fn put(set: &mut Map<String, Value>, path: &str, value: &Value) {
    set.insert(path.to_owned(), value.clone());
}

fn inside(path: &mut String, step: &str, work: impl FnOnce(&mut String)) {
    let length = path.len();
    path.push('/');
    path.push_str(&step.replace('~', "~0").replace('/', "~1"));
    work(path);
    path.truncate(length);
}

pub(super) fn apply(value: &mut Value, set: Map<String, Value>, drop: &[String]) {
    for path in drop {
        let Some((parent, name)) = split(path) else { continue };
        if let Some(members) = value.pointer_mut(parent).and_then(Value::as_object_mut) {
            members.remove(&name);
        }
    }
    for (path, new) in set {
        let Some((parent, name)) = split(&path) else {
            *value = new;
            continue;
        };
        match value.pointer_mut(parent) {
            Some(Value::Object(members)) => {
                members.insert(name, new);
            }
            Some(Value::Array(list)) => {
                if let Some(index) = name.parse::<usize>().ok().and_then(|index| list.get_mut(index)) {
                    *index = new;
                }
            }
            _ => {}
        }
    }
}

fn split(path: &str) -> Option<(&str, String)> {
    let (parent, name) = path.rsplit_once('/')?;
    Some((parent, name.replace("~1", "/").replace("~0", "~")))
}
