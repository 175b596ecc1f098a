//! The forms of the catalogue as JSON Schema, from which the other languages' types are generated.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::Value;

use crate::catalogue::EventType;

/// What a generator needs to know of the catalogue: the schema of each payload, and the definitions they share.
pub struct CatalogueSchema {
    /// One per known type, in the order of [`EventType::ALL`].
    pub payloads: Vec<(EventType, Value)>,
    /// The shared definitions, by name.
    pub definitions: serde_json::Map<String, Value>,
}

impl CatalogueSchema {
    /// The schema of every event type that is known here.
    pub fn new() -> Self {
        let mut generator = SchemaGenerator::default();
        let payloads = EventType::ALL
            .iter()
            .map(|kind| (kind.clone(), clean(payload_schema(kind, &mut generator).to_value())))
            .collect();
        let definitions = generator
            .take_definitions(true)
            .into_iter()
            .map(|(name, schema)| (name, clean(schema)))
            .collect();
        Self { payloads, definitions }
    }
}

impl Default for CatalogueSchema {
    fn default() -> Self {
        Self::new()
    }
}

fn payload_schema(kind: &EventType, generator: &mut SchemaGenerator) -> Schema {
    crate::catalogue::table::payload_schema(kind, generator).unwrap_or_else(|| Schema::from(true))
}

/// A union by the member `type`, open for types that are not known here.
pub(crate) fn tagged_schema(description: &str, known: Vec<(&str, Schema)>) -> Schema {
    let tags: Vec<&str> = known.iter().map(|(tag, _)| *tag).collect();
    let mut arms: Vec<Schema> = Vec::with_capacity(known.len() + 1);
    for (tag, inner) in known {
        let mut arm = inner;
        arm.insert("type".into(), "object".into());
        arm.insert("properties".into(), serde_json::json!({ "type": { "const": tag } }));
        arm.insert("required".into(), serde_json::json!(["type"]));
        arms.push(arm);
    }
    arms.push(json_schema!({
        "description": "A type that is not known here, kept as it came.",
        "type": "object",
        "properties": { "type": { "type": "string", "not": { "enum": tags } } },
        "required": ["type"],
    }));
    json_schema!({ "description": description, "oneOf": arms })
}

/// An absent member is absent, never null: takes away the `null` that an optional field gets by default.
/// A patch says `oneOf` for its null, which stays.
fn clean(mut schema: Value) -> Value {
    match &mut schema {
        Value::Object(members) => {
            if let Some(Value::Array(types)) = members.get_mut("type") {
                types.retain(|kind| kind != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    members.insert("type".into(), only);
                }
            }
            if let Some(Value::Array(arms)) = members.get_mut("anyOf") {
                arms.retain(|arm| arm.get("type").is_none_or(|kind| kind != "null"));
                if let [Value::Object(only)] = arms.as_slice() {
                    let only = only.clone();
                    members.remove("anyOf");
                    members.extend(only);
                }
            }
            for (_, inner) in members.iter_mut() {
                *inner = clean(inner.take());
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|inner| *inner = clean(inner.take())),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    schema
}
