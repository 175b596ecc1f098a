//! Whether a value has the form that its key wants.

use riverrun_event::nearest;

use super::node::{Node, NodeValue};
use super::shape::Shape;
use crate::cli::duration;

/// Checks everything but the members of tables; the error says what is wanted.
pub fn fits(node: &Node, shape: Shape) -> Result<(), String> {
    let is = match shape {
        Shape::Text => matches!(node.value, NodeValue::Text(_)),
        Shape::Flag => matches!(node.value, NodeValue::Flag(_)),
        Shape::Texts => is_texts(node),
        Shape::TextOrTexts => node.text().is_some() || is_texts(node),
        Shape::TextOrFile => node.text().is_some() || node.single("file").is_some(),
        Shape::Whole => matches!(node.value, NodeValue::Whole(number) if number >= 0),
        Shape::Number => matches!(node.value, NodeValue::Whole(_) | NodeValue::Number(_)),
        Shape::NumberTables(_) | Shape::Table(_) | Shape::Routes | Shape::JsonSchema => {
            matches!(node.value, NodeValue::Table(_))
        }
        Shape::Secret => return secret(node),
        Shape::TextMap => return text_map(node),
        Shape::Duration => return span_of_time(node),
        Shape::Word(words) => return word(node, words),
        Shape::Words(words) => return list_of(node, words),
    };
    if is { Ok(()) } else { wants(node, wanted(shape)) }
}

fn wants(node: &Node, what: &str) -> Result<(), String> {
    Err(format!("wants {what}, not {}", node.kind()))
}

fn wanted(shape: Shape) -> &'static str {
    match shape {
        Shape::Text => "a text",
        Shape::Flag => "true or false",
        Shape::Texts => "a list of texts",
        Shape::TextOrTexts => "a text or a list of texts",
        Shape::TextOrFile => "a text or { file = \"…\" }",
        Shape::Whole => "a whole number from 0 on",
        Shape::Number => "a number",
        Shape::JsonSchema => "a JSON Schema as a table, or { file = \"….json\" }",
        Shape::Secret => "{ env = \"NAME\" } or { file = \"PATH\" }",
        Shape::Duration => "a duration such as \"15s\"",
        Shape::TextMap | Shape::NumberTables(_) | Shape::Table(_) | Shape::Routes => "a table",
        Shape::Word(_) => "a word",
        Shape::Words(_) => "a list of words",
    }
}

fn is_texts(node: &Node) -> bool {
    matches!(&node.value, NodeValue::List(items) if items.iter().all(|item| item.text().is_some()))
}

fn is_secret(node: &Node) -> bool {
    node.single("env").is_some() || node.single("file").is_some()
}

fn secret(node: &Node) -> Result<(), String> {
    match node.text() {
        // The text is not shown: it may well be the key.
        Some(_) => Err(INLINE.to_owned()),
        None if is_secret(node) => Ok(()),
        None => wants(node, wanted(Shape::Secret)),
    }
}

const INLINE: &str = "a key does not belong in this file; write { env = \"NAME\" } or { file = \"PATH\" }";

/// Names to texts; those whose name says that they are secret do not stand in the file.
fn text_map(node: &Node) -> Result<(), String> {
    let NodeValue::Table(members) = &node.value else { return wants(node, wanted(Shape::TextMap)) };
    for member in members {
        match member.node.text() {
            Some(text) if is_secret_name(&member.key) && !text.is_empty() => {
                return Err(format!("`{}`: {INLINE}", member.key));
            }
            None if !is_secret(&member.node) => {
                return Err(format!("`{}` wants a text, {{ env = … }} or {{ file = … }}", member.key));
            }
            Some(_) | None => {}
        }
    }
    Ok(())
}

/// `Authorization`, `X-Api-Key`, `GITHUB_TOKEN`: names under which people keep what nobody else may read.
fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let words: Vec<&str> = name.split(['-', '_']).collect();
    let is_key = words.windows(2).any(|pair| matches!(pair, ["api" | "access" | "private", "key"]));
    const SECRET: [&str; 8] =
        ["authorization", "cookie", "token", "secret", "password", "passwd", "apikey", "credentials"];
    is_key || words.iter().any(|word| SECRET.contains(word))
}

fn span_of_time(node: &Node) -> Result<(), String> {
    match node.text() {
        Some(text) => duration::parse(text).map(drop),
        None => wants(node, wanted(Shape::Duration)),
    }
}

fn list_of(node: &Node, words: &[&str]) -> Result<(), String> {
    match &node.value {
        NodeValue::List(items) if !items.is_empty() => items.iter().try_for_each(|item| word(item, words)),
        NodeValue::List(_) => Err(format!("the list is empty; it may have {}", words.join(", "))),
        _ => wants(node, wanted(Shape::Words(&[]))),
    }
}

fn word(node: &Node, words: &[&str]) -> Result<(), String> {
    match node.text() {
        Some(text) if words.contains(&text) => Ok(()),
        Some(text) => Err(match nearest(text, words.iter().copied()) {
            Some(near) => format!("`{text}` is not one of {}; did you mean `{near}`?", words.join(", ")),
            None => format!("`{text}` is not one of {}", words.join(", ")),
        }),
        None => wants(node, &format!("one of {}", words.join(", "))),
    }
}
