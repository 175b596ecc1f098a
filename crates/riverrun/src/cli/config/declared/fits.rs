//! Whether a value has the form that its key wants.

use riverrun_event::nearest;

use super::node::{Node, NodeValue};
use super::shape::Shape;
use crate::cli::config::settings::parse_size;
use crate::cli::duration;

/// Checks everything but the members of tables; the error says what is wanted.
pub fn fits(node: &Node, shape: Shape) -> Result<(), String> {
    let is = match shape {
        Shape::Text => matches!(node.value, NodeValue::Text(_)),
        Shape::Flag => matches!(node.value, NodeValue::Flag(_)),
        Shape::Texts => is_texts(node),
        Shape::TextOrTexts => node.text().is_some() || is_texts(node),
        Shape::TextByLanguage => {
            let is_table = matches!(node.value, NodeValue::Table(_));
            node.text().is_some() || is_table && node.members().iter().all(|one| one.node.text().is_some())
        }
        Shape::TextOrFile => node.text().is_some() || node.single("file").is_some(),
        Shape::Whole => matches!(node.value, NodeValue::Whole(number) if number >= 0),
        Shape::NumberTables(_) | Shape::Table(_) | Shape::Routes => {
            matches!(node.value, NodeValue::Table(_))
        }
        Shape::Size => return size(node),
        Shape::Quota if matches!(node.value, NodeValue::Whole(0)) => true,
        Shape::Quota => return size(node),
        Shape::Count => return from(node, 1.0, f64::MAX, "a whole number from 1 on"),
        Shape::Money => return from(node, 0.0, f64::MAX, "a number of dollars from 0 on"),
        Shape::Temperature => return from(node, 0.0, 2.0, "a number from 0 to 2"),
        Shape::Url => return address(node),
        Shape::JsonSchema => return json_schema(node),
        Shape::Secret => return secret(node),
        Shape::TextMap => return text_map(node),
        Shape::Duration => return span_of_time(node),
        Shape::Word(words) => return word(node, words),
        Shape::WordOrTable(words, _) => match node.value {
            NodeValue::Table(_) => true,
            NodeValue::Text(_) => return word(node, words),
            _ => false,
        },
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
        Shape::TextByLanguage => "a text or a table of texts by language",
        Shape::TextOrFile => "a text or { file = \"…\" }",
        Shape::Whole => "a whole number from 0 on",
        Shape::Size | Shape::Quota => "a number of bytes such as \"64MiB\"",
        Shape::Count | Shape::Money | Shape::Temperature => "a number",
        Shape::Url => "an address such as \"https://example.com/path\"",
        Shape::JsonSchema => "a JSON Schema as a table, or { file = \"….json\" }",
        Shape::Secret => "{ env = \"NAME\" } or { file = \"PATH\" }",
        Shape::Duration => "a duration such as \"15s\"",
        Shape::TextMap | Shape::NumberTables(_) | Shape::Table(_) | Shape::Routes => "a table",
        Shape::Word(_) => "a word",
        Shape::WordOrTable(..) => "a word or a table",
        Shape::Words(_) => "a list of words",
    }
}

/// A number between these two, or what is wanted.
fn from(node: &Node, least: f64, most: f64, wanted: &str) -> Result<(), String> {
    let number = match node.value {
        NodeValue::Whole(number) => number as f64,
        NodeValue::Number(number) if least < 1.0 => number,
        _ => return wants(node, wanted),
    };
    match number >= least && number <= most {
        true => Ok(()),
        false => Err(format!("wants {wanted}, not {number}")),
    }
}

/// What stands in braces is an argument of the call. The host of a tool may not be one; its builder says so.
fn address(node: &Node) -> Result<(), String> {
    let Some(text) = node.text() else { return wants(node, wanted(Shape::Url)) };
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let host = rest.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
    let is_whole = text.starts_with('{') && text.ends_with('}');
    let is_host = |host: &str| {
        !host.is_empty() && !host.contains(|c: char| c.is_whitespace() || c.is_control() || c == '@')
    };
    if is_whole || host.is_some_and(is_host) {
        return Ok(());
    }
    if let Some((_, place)) = text.rsplit_once('@') {
        let reason = "holds a user or password, which stands in messages and logs; leave it out";
        return Err(format!("`…@{place}` {reason}, and give secrets as {{ env = … }} or {{ file = … }}"));
    }
    Err(format!(
        "`{text}` is no address; write {}",
        wanted(Shape::Url).trim_start_matches("an address such as ")
    ))
}

/// Only what stands here: a file is read when the tool or the agent is built.
fn json_schema(node: &Node) -> Result<(), String> {
    if !matches!(node.value, NodeValue::Table(_)) {
        return wants(node, wanted(Shape::JsonSchema));
    }
    match node.single("file") {
        Some(_) => Ok(()),
        None => riverrun_tool::check_schema(&node.to_json()).map_err(|error| error.to_string()),
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
        Some(text) => match duration::parse(text)?.is_zero() {
            true => Err(format!("`{text}` is no time at all; give more, or leave it out")),
            false => Ok(()),
        },
        None => wants(node, wanted(Shape::Duration)),
    }
}

fn size(node: &Node) -> Result<(), String> {
    let bytes = match &node.value {
        NodeValue::Whole(number) => u64::try_from(*number).unwrap_or(0),
        NodeValue::Text(text) => parse_size(text)?,
        _ => return wants(node, wanted(Shape::Size)),
    };
    if bytes > 0 { Ok(()) } else { Err("wants at least one byte; leave it out for no limit".to_owned()) }
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
