//! The catalogue in the form that the writers need: names, members, unions.

use std::collections::{BTreeMap, BTreeSet};

use riverrun_event::{CatalogueSchema, EventType};
use serde_json::Value;

/// The form of a value.
#[derive(Debug, Clone, PartialEq)]
pub enum ValueForm {
    Text,
    Integer,
    Number,
    Boolean,
    /// Opaque to us.
    Json,
    List(Box<ValueForm>),
    Named(String),
    OneOf(Vec<ValueForm>),
    Null,
}

pub struct CatalogueMember {
    pub name: String,
    pub form: ValueForm,
    pub needed: bool,
    pub description: String,
}

pub enum TypeShape {
    /// An object; its tags are the values that its `type` has as an arm of a union.
    Object {
        members: Vec<CatalogueMember>,
        tags: Vec<String>,
    },
    /// Objects that differ by `type`, open for types that are not known.
    Union(Vec<String>),
    /// One of a few words.
    Words(Vec<String>),
    Alias(ValueForm),
}

pub struct Definition {
    pub name: String,
    pub description: String,
    pub shape: TypeShape,
}

pub struct Row {
    pub kind: EventType,
    /// The Rust name, `TurnSubmitted`.
    pub name: String,
    /// The definition of the payload.
    pub payload: String,
    /// True if the payload has members that must be there.
    pub payload_needed: bool,
}

pub struct EventCatalogue {
    pub rows: Vec<Row>,
    pub definitions: BTreeMap<String, Definition>,
    pub schema: CatalogueSchema,
}

impl EventCatalogue {
    pub fn new() -> Self {
        let schema = CatalogueSchema::new();
        let mut tags: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (name, tag) in schema.definitions.values().flat_map(tagged_arms) {
            tags.entry(name).or_default().insert(tag);
        }
        let definitions: BTreeMap<String, Definition> = schema
            .definitions
            .iter()
            .map(|(name, value)| {
                let tags = tags.get(name).map(|tags| tags.iter().cloned().collect()).unwrap_or_default();
                (name.clone(), definition(name, value, tags))
            })
            .collect();
        let row = |(kind, payload): &(EventType, Value)| {
            let payload = reference(payload).expect("every payload is a struct of its own");
            let payload_needed = definitions[&payload].members().iter().any(|member| member.needed);
            Row { kind: kind.clone(), name: format!("{kind:?}"), payload, payload_needed }
        };
        Self { rows: schema.payloads.iter().map(row).collect(), definitions, schema }
    }
}

impl Definition {
    pub fn members(&self) -> &[CatalogueMember] {
        match &self.shape {
            TypeShape::Object { members, .. } => members,
            TypeShape::Union(_) | TypeShape::Words(_) | TypeShape::Alias(_) => &[],
        }
    }
}

fn definition(name: &str, schema: &Value, tags: Vec<String>) -> Definition {
    let arms: Vec<String> = tagged_arms(schema).into_iter().map(|(name, _)| name).collect();
    let words = words(schema);
    let shape = if !arms.is_empty() {
        let mut seen = BTreeSet::new();
        TypeShape::Union(arms.into_iter().filter(|arm| seen.insert(arm.clone())).collect())
    } else if !words.is_empty() {
        TypeShape::Words(words)
    } else if schema["type"] == "object" {
        TypeShape::Object { members: members(schema), tags }
    } else {
        TypeShape::Alias(form(schema))
    };
    Definition { name: name.to_owned(), description: text(&schema["description"]), shape }
}

/// The arms of a union by `type`: the definition and the tag of each.
fn tagged_arms(schema: &Value) -> Vec<(String, String)> {
    let arm = |arm: &Value| Some((reference(arm)?, arm["properties"]["type"]["const"].as_str()?.to_owned()));
    schema["oneOf"].as_array().into_iter().flatten().filter_map(arm).collect()
}

fn words(schema: &Value) -> Vec<String> {
    let word = |arm: &Value| Some(arm["const"].as_str()?.to_owned());
    schema["oneOf"].as_array().into_iter().flatten().filter_map(word).collect()
}

/// The members that must be there come first, then all by name: the order must not depend on how maps are built.
fn members(schema: &Value) -> Vec<CatalogueMember> {
    let needed: BTreeSet<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut members: Vec<CatalogueMember> = schema["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| CatalogueMember {
            name: name.clone(),
            form: form(value),
            needed: needed.contains(name.as_str()),
            description: text(&value["description"]),
        })
        .collect();
    members.sort_by(|a, b| b.needed.cmp(&a.needed).then_with(|| a.name.cmp(&b.name)));
    members
}

fn form(schema: &Value) -> ValueForm {
    if let Some(name) = reference(schema) {
        return ValueForm::Named(name);
    }
    if let Some(arms) = schema["oneOf"].as_array() {
        return ValueForm::OneOf(arms.iter().map(form).collect());
    }
    match schema["type"].as_str() {
        Some("string") => ValueForm::Text,
        Some("integer") => ValueForm::Integer,
        Some("number") => ValueForm::Number,
        Some("boolean") => ValueForm::Boolean,
        Some("null") => ValueForm::Null,
        Some("array") => ValueForm::List(Box::new(form(&schema["items"]))),
        Some(_) | None => ValueForm::Json,
    }
}

fn reference(schema: &Value) -> Option<String> {
    schema["$ref"].as_str()?.rsplit('/').next().map(str::to_owned)
}

/// A description on one line.
fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}
