//! Examples of payloads, made from their schema.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use crate::catalogue::{CatalogueSchema, EventType, RawJson};

/// The smallest payload that fits the type: only what must be there. `{}` for a type that is not known here.
pub fn sample(kind: &EventType) -> RawJson {
    static SCHEMA: LazyLock<CatalogueSchema> = LazyLock::new(CatalogueSchema::new);
    let Some(index) = kind.index() else { return RawJson::empty_object() };
    let value =
        Sampler { schema: &SCHEMA, members: Members::Needed, arm: 0 }.of(&SCHEMA.payloads[index].1, 0);
    RawJson::of(&value).expect("a JSON value has a text")
}

/// Which members a sample has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Members {
    Needed,
    /// All of them, down to a depth at which items that hold items must end.
    All,
}

pub(crate) struct Sampler<'a> {
    pub schema: &'a CatalogueSchema,
    pub members: Members,
    /// Which arm of a union to take, counted round.
    pub arm: usize,
}

const DEEPEST: usize = 6;

impl Sampler<'_> {
    pub(crate) fn of(&self, schema: &Value, depth: usize) -> Value {
        let Value::Object(members) = schema else { return json!({}) };
        if let Some(value) = members.get("const") {
            return value.clone();
        }
        if let Some(Value::Array(values)) = members.get("enum") {
            return values[self.arm % values.len()].clone();
        }
        if let Some(Value::Array(arms)) = members.get("oneOf") {
            let arm = if depth < DEEPEST { self.arm % arms.len() } else { 0 };
            return self.of(&arms[arm], depth);
        }
        let mut base = match members.get("$ref").and_then(Value::as_str) {
            Some(reference) => self.of(self.definition(reference), depth),
            None => self.of_type(members.get("type").and_then(Value::as_str)),
        };
        if let Value::Object(object) = &mut base {
            self.add_members(object, members, depth);
        }
        if let (Value::Array(array), Some(items)) = (&mut base, members.get("items"))
            && self.members == Members::All
            && depth < DEEPEST
        {
            array.push(self.of(items, depth + 1));
        }
        base
    }

    fn definition(&self, reference: &str) -> &Value {
        let name = reference.rsplit('/').next().unwrap_or_default();
        self.schema.definitions.get(name).unwrap_or(&Value::Null)
    }

    fn of_type(&self, name: Option<&str>) -> Value {
        match name {
            Some("string") => json!("sample"),
            Some("integer") => json!(1),
            Some("number") => json!(0.5),
            Some("boolean") => json!(true),
            Some("array") => json!([]),
            Some("null") => Value::Null,
            Some(_) | None => json!({}),
        }
    }

    fn add_members(&self, object: &mut Map<String, Value>, schema: &Map<String, Value>, depth: usize) {
        let Some(Value::Object(properties)) = schema.get("properties") else { return };
        let needed = |name: &String| {
            schema
                .get("required")
                .and_then(Value::as_array)
                .is_some_and(|names| names.iter().any(|it| it == name))
        };
        for (name, property) in properties {
            if needed(name) || (self.members == Members::All && depth < DEEPEST) {
                object.insert(name.clone(), self.of(property, depth + 1));
            }
        }
    }
}
