//! Values of the file as Rust has them. What has the wrong form was complained about before, and is left out.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::catalogue::PROCESS_LIMITS;
use super::node::{Member, Node, NodeValue};
use super::shape::Field;
use super::types::{Approval, Name, ProcessLimitsDeclared, SecretText, Source};
use crate::cli::config::settings::parse_size;
use crate::cli::duration;

/// The known members of a table, by name.
pub type Table<'a> = BTreeMap<&'static str, &'a Node>;

/// The members of a table that was complained about before.
pub fn peek<'a>(node: &'a Node, fields: &'static [Field]) -> Table<'a> {
    let known = |member: &'a Member| {
        let field = fields.iter().find(|field| field.key == member.key)?;
        Some((field.key, &member.node))
    };
    node.members().iter().filter_map(known).collect()
}

pub fn name(member: &Member) -> Name {
    Name { text: member.key.clone(), span: member.span.clone() }
}

/// One text or a list of them, each with its place.
pub fn names(node: Option<&Node>) -> Vec<Name> {
    let of = |node: &Node| node.text().map(|text| Name { text: text.to_owned(), span: node.span.clone() });
    match node.map(|node| &node.value) {
        Some(NodeValue::List(items)) => items.iter().filter_map(of).collect(),
        _ => node.and_then(of).into_iter().collect(),
    }
}

pub fn texts(node: Option<&Node>) -> Vec<String> {
    names(node).into_iter().map(|name| name.text).collect()
}

pub fn text(table: &Table<'_>, key: &str) -> Option<String> {
    table.get(key)?.text().map(str::to_owned)
}

pub fn whole(table: &Table<'_>, key: &str) -> Option<u64> {
    match table.get(key)?.value {
        NodeValue::Whole(number) => u64::try_from(number).ok(),
        _ => None,
    }
}

pub fn number(table: &Table<'_>, key: &str) -> Option<f64> {
    match table.get(key)?.value {
        NodeValue::Whole(number) => Some(number as f64),
        NodeValue::Number(number) => Some(number),
        _ => None,
    }
}

pub fn flag(table: &Table<'_>, key: &str) -> Option<bool> {
    match table.get(key)?.value {
        NodeValue::Flag(flag) => Some(flag),
        _ => None,
    }
}

pub fn time(table: &Table<'_>, key: &str) -> Option<Duration> {
    duration::parse(table.get(key)?.text()?).ok()
}

pub fn size(table: &Table<'_>, key: &str) -> Option<u64> {
    match &table.get(key)?.value {
        NodeValue::Text(text) => parse_size(text).ok(),
        NodeValue::Whole(number) => u64::try_from(*number).ok(),
        _ => None,
    }
}

/// What a program may use of the machine.
pub fn process_limits(table: &Table<'_>) -> ProcessLimitsDeclared {
    let Some(node) = table.get("limits") else { return ProcessLimitsDeclared::default() };
    let limits = peek(node, PROCESS_LIMITS);
    ProcessLimitsDeclared {
        memory: size(&limits, "memory"),
        cpu: time(&limits, "cpu"),
        open_files: whole(&limits, "open_files"),
        processes: whole(&limits, "processes"),
        file_size: size(&limits, "file_size"),
    }
}

pub fn approval(table: &Table<'_>) -> Option<Approval> {
    match table.get("approval")?.text()? {
        "never" => Some(Approval::Never),
        "always" => Some(Approval::Always),
        _ => Some(Approval::Policy),
    }
}

pub fn source<T>(node: &Node, here: impl Fn(&Node) -> T) -> Source<T> {
    match node.single("file") {
        Some(file) => Source::File(Name { text: file.to_owned(), span: node.span.clone() }),
        None => Source::Here(here(node)),
    }
}

pub fn json_schema(table: &Table<'_>, key: &str) -> Option<Source<Value>> {
    table.get(key).map(|node| source(node, Node::to_json))
}

pub fn secret(node: &Node) -> SecretText {
    match (node.single("env"), node.single("file"), node.text()) {
        (Some(env), _, _) => SecretText::Env(env.to_owned()),
        (_, Some(file), _) => SecretText::File(file.to_owned()),
        (_, _, text) => SecretText::Plain(text.unwrap_or_default().to_owned()),
    }
}

pub fn text_map(table: &Table<'_>, key: &str) -> BTreeMap<String, SecretText> {
    let members = table.get(key).map_or(&[][..], |node| node.members());
    members.iter().map(|member| (member.key.clone(), secret(&member.node))).collect()
}
