//! What several chunks say of one thing, put together.

use serde_json::{Map, Value};

/// Adds a piece to the thinking block that it belongs to: one that has its signature is whole.
pub(super) fn gather(blocks: &mut Vec<Value>, piece: &Value) {
    let is_open = |block: &&mut Value| {
        block["type"] == piece["type"] && block["signature"].as_str().is_none_or(str::is_empty)
    };
    match blocks.last_mut().filter(is_open).filter(|block| block["thinking"].is_string()) {
        Some(block) => join(block, &without(piece, &["type"])),
        None => blocks.push(without(piece, &[])),
    }
}

/// The members of an object but for these, and for those that say nothing; null if none is left.
pub(super) fn without(object: &Value, names: &[&str]) -> Value {
    let is_left = |(name, value): &(&String, &Value)| !names.contains(&name.as_str()) && !value.is_null();
    let left: Map<String, Value> = object
        .as_object()
        .into_iter()
        .flatten()
        .filter(is_left)
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if left.is_empty() { Value::Null } else { Value::Object(left) }
}

/// Adds what a chunk says to what was said: texts and lists grow, names and numbers are replaced.
pub(super) fn join(whole: &mut Value, news: &Value) {
    match (whole, news) {
        (Value::Object(whole), Value::Object(news)) => {
            for (name, value) in news {
                match whole.get_mut(name) {
                    Some(known) if !matches!(name.as_str(), "id" | "type" | "name") => join(known, value),
                    _ => drop(whole.insert(name.clone(), value.clone())),
                }
            }
        }
        (Value::String(whole), Value::String(news)) => whole.push_str(news),
        (Value::Array(whole), Value::Array(news)) => {
            for value in news {
                let index = value["index"].as_u64();
                let same = |known: &&mut Value| index.is_some() && known["index"].as_u64() == index;
                match whole.iter_mut().find(same) {
                    Some(known) => join(known, value),
                    None => whole.push(value.clone()),
                }
            }
        }
        (_, Value::Null) => {}
        (whole, news) => *whole = news.clone(),
    }
}
