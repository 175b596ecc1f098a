//! A JSON Schema as one of a few kinds of type.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::model::{OperationTable, SchemaMember, members};

/// What the types of three languages are made of.
pub enum SchemaKind<'a> {
    Named(&'a str),
    Text,
    Integer,
    Number,
    Boolean,
    Null,
    /// Any JSON.
    Any,
    /// One of these texts.
    Words(Vec<&'a str>),
    List(&'a Value),
    /// Members by any name.
    Map(&'a Value),
    Object(Vec<SchemaMember<'a>>),
    OneOf(Vec<&'a Value>),
    /// The value, or `null`.
    Nullable(Box<SchemaKind<'a>>),
}

pub fn kind(schema: &Value) -> SchemaKind<'_> {
    if let Some(reference) = schema["$ref"].as_str() {
        return SchemaKind::Named(reference.rsplit('/').next().unwrap_or(reference));
    }
    if let Some(word) = schema["const"].as_str() {
        return SchemaKind::Words(vec![word]);
    }
    if let Some(words) = schema["enum"].as_array() {
        return SchemaKind::Words(words.iter().filter_map(Value::as_str).collect());
    }
    for word in ["oneOf", "anyOf"] {
        if let Some(arms) = schema[word].as_array() {
            return one_of(arms);
        }
    }
    match &schema["type"] {
        Value::Array(types) => {
            let is_null = types.iter().any(|one| one == "null");
            let other = types.iter().find(|one| *one != "null").and_then(Value::as_str).unwrap_or_default();
            let inner = simple(other, schema);
            if is_null { SchemaKind::Nullable(Box::new(inner)) } else { inner }
        }
        Value::String(name) => simple(name, schema),
        _ => SchemaKind::Any,
    }
}

fn one_of(arms: &[Value]) -> SchemaKind<'_> {
    let others: Vec<&Value> = arms.iter().filter(|arm| arm["type"] != "null").collect();
    let words: Vec<&str> = others.iter().filter_map(|arm| arm["const"].as_str()).collect();
    let inner = match others.as_slice() {
        [only] => kind(only),
        _ if words.len() == others.len() => SchemaKind::Words(words),
        _ => SchemaKind::OneOf(others.clone()),
    };
    if others.len() < arms.len() { SchemaKind::Nullable(Box::new(inner)) } else { inner }
}

fn simple<'a>(name: &str, schema: &'a Value) -> SchemaKind<'a> {
    match name {
        "string" => SchemaKind::Text,
        "integer" => SchemaKind::Integer,
        "number" => SchemaKind::Number,
        "boolean" => SchemaKind::Boolean,
        "null" => SchemaKind::Null,
        "array" => SchemaKind::List(&schema["items"]),
        "object" if schema["properties"].is_object() => SchemaKind::Object(members(schema)),
        "object" if schema["additionalProperties"].is_object() => {
            SchemaKind::Map(&schema["additionalProperties"])
        }
        _ => SchemaKind::Any,
    }
}

/// A description on one line.
pub fn description(schema: &Value) -> String {
    schema["description"].as_str().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The shared schemas that operations use, without those of the catalogue of events; and which of these are used.
pub fn used<'a>(
    table: &'a OperationTable,
    events: &BTreeSet<&str>,
) -> (BTreeMap<&'a str, &'a Value>, BTreeSet<&'a str>) {
    let mut open: Vec<&Value> =
        table.operations.iter().flat_map(|row| [&row.request, &row.response]).collect();
    let (mut own, mut imported) = (BTreeMap::new(), BTreeSet::new());
    while let Some(schema) = open.pop() {
        match schema {
            Value::Object(members) => {
                if let SchemaKind::Named(name) = kind(schema) {
                    if events.contains(name) {
                        imported.insert(name);
                    } else if let Some((name, found)) = table.schemas.get_key_value(name)
                        && own.insert(name.as_str(), found).is_none()
                    {
                        open.push(found);
                    }
                }
                open.extend(members.values());
            }
            Value::Array(entries) => open.extend(entries),
            _ => {}
        }
    }
    (own, imported)
}
