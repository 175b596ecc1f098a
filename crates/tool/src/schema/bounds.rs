//! How much work a schema can make, found out without asking it anything.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::SchemaError;

/// A schema that a model still reads; larger ones are an attack or a mistake.
const MAX_BYTES: usize = 256 * 1024;
/// Parts of a schema with every reference replaced by what it leads to.
const MAX_PARTS: u64 = 10_000;
/// How deep they may be nested then.
const MAX_DEPTH: usize = 256;
/// A pattern is compiled and run, which is far more work than another part.
const PATTERN: u64 = 50;
/// Parts that one value may lead to in a schema that comes back to itself.
const MAX_WORK: u64 = 20_000_000;

pub(super) struct Bounds {
    parts: u64,
    /// How many times the schema is asked about one member of a value for each time that it is asked about the value.
    /// More than once, the work grows with every level.
    growth: u64,
}

impl Bounds {
    pub fn of(schema: &Value) -> Result<Self, SchemaError> {
        if !(schema.is_object() || schema.is_boolean()) {
            return Err(unusable("the schema is not an object; use {\"type\": \"object\"}"));
        }
        let size = schema.to_string().len();
        if size > MAX_BYTES {
            return Err(too_large(format!("the schema has {size} bytes; at most {MAX_BYTES} are taken")));
        }
        let mut walk = Walk { root: schema, open: Vec::new(), done: HashMap::new(), growth: 1, depth: 0 };
        let is_old = schema["$schema"].as_str().is_some_and(|dialect| dialect.contains("draft-04"));
        refuse_embedded(schema, if is_old { "id" } else { "$id" }, true)?;
        let weight = walk.enter("#", schema)?;
        Ok(Self { parts: weight.parts, growth: walk.growth })
    }

    pub fn check(&self, value: &Value) -> Result<(), String> {
        let depth = depth(value);
        let growth = self.growth.checked_pow(u32::try_from(depth).unwrap_or(u32::MAX));
        let work = growth.and_then(|growth| growth.checked_mul(self.parts));
        if self.growth > 1 && work.is_none_or(|work| work > MAX_WORK) {
            return Err(format!(
                "it is nested {depth} deep, which is too deep for a schema that comes back to itself in \
                 {} ways; nest it less",
                self.growth
            ));
        }
        Ok(())
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(values) => 1 + values.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// What a part of a schema leads to.
#[derive(Clone, Copy, Default)]
struct Weight {
    parts: u64,
    /// Ways back to a reference that is being followed, about the same value, a place of an array, a member of an
    /// object. A value is never both of these.
    same: u64,
    array: u64,
    object: u64,
}

impl Weight {
    /// Both are asked about the same value.
    fn and(self, other: Self) -> Self {
        Self {
            parts: self.parts.saturating_add(other.parts),
            same: self.same.saturating_add(other.same),
            array: self.array.saturating_add(other.array),
            object: self.object.saturating_add(other.object),
        }
    }

    fn ways(self) -> u64 {
        self.same.saturating_add(self.array.max(self.object))
    }

    fn in_array(self) -> Self {
        Self { parts: self.parts, array: self.ways(), ..Self::default() }
    }

    fn in_object(self) -> Self {
        Self { parts: self.parts, object: self.ways(), ..Self::default() }
    }

    /// Each is asked about another member.
    fn or(self, other: Self) -> Self {
        let parts = self.parts.saturating_add(other.parts);
        Self { parts, array: self.array.max(other.array), object: self.object.max(other.object), ..self }
    }
}

struct Walk<'a> {
    root: &'a Value,
    /// The references that we are inside of, and whether something in them came back.
    open: Vec<(&'a str, bool)>,
    done: HashMap<&'a str, Weight>,
    growth: u64,
    depth: usize,
}

impl<'a> Walk<'a> {
    fn enter(&mut self, reference: &'a str, target: &'a Value) -> Result<Weight, SchemaError> {
        self.open.push((reference, false));
        let weight = self.visit(target)?;
        if let Some((_, true)) = self.open.pop() {
            if weight.same > 0 {
                return Err(unusable(format!("`$ref` to `{}` comes back to itself", short(reference))));
            }
            self.growth = self.growth.max(weight.ways());
        }
        self.done.insert(reference, weight);
        Ok(weight)
    }

    fn visit(&mut self, value: &'a Value) -> Result<Weight, SchemaError> {
        if self.depth > MAX_DEPTH {
            let text =
                format!("the schema is nested more than {MAX_DEPTH} deep, with what its references lead to");
            return Err(too_large(text));
        }
        self.depth += 1;
        let weight = match value {
            Value::Array(values) => self.all(values.iter(), Weight::and)?,
            Value::Object(members) => self.members(members)?,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Weight::default(),
        };
        self.depth -= 1;
        let weight = weight.and(Weight { parts: 1, ..Weight::default() });
        if weight.parts > MAX_PARTS {
            return Err(too_large(format!(
                "the schema has more than {MAX_PARTS} parts when its references are replaced by what they lead to; \
                 make it smaller"
            )));
        }
        Ok(weight)
    }

    fn all(
        &mut self,
        mut values: impl Iterator<Item = &'a Value>,
        join: fn(Weight, Weight) -> Weight,
    ) -> Result<Weight, SchemaError> {
        values.try_fold(Weight::default(), |sum, value| Ok(join(sum, self.visit(value)?)))
    }

    fn members(&mut self, members: &'a Map<String, Value>) -> Result<Weight, SchemaError> {
        let mut sum = Weight::default();
        for (name, value) in members {
            sum = sum.and(self.member(name, value)?);
        }
        // To know what nothing else spoke of, everything else is asked once more.
        for name in ["unevaluatedProperties", "unevaluatedItems"] {
            if members.contains_key(name) {
                sum = sum.and(sum);
            }
        }
        Ok(sum)
    }

    fn member(&mut self, name: &str, value: &'a Value) -> Result<Weight, SchemaError> {
        Ok(match (name, value) {
            ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(reference)) => self.follow(reference)?,
            ("$defs" | "definitions", Value::Object(named)) => {
                // Asked only where a reference leads to them, and counted there.
                self.each(named, |_| Weight::default())?
            }
            ("properties", Value::Object(named)) => {
                let each = named.values().map(|value| Ok(self.visit(value)?.in_object()));
                each.collect::<Result<Vec<_>, _>>()?.into_iter().fold(Weight::default(), Weight::or)
            }
            ("patternProperties", Value::Object(named)) => self.each(named, |weight| {
                let pattern = Weight { parts: PATTERN, ..Weight::default() };
                weight.in_object().and(pattern)
            })?,
            ("dependentSchemas" | "dependencies", Value::Object(named)) => {
                self.each(named, |weight| weight)?
            }
            ("additionalProperties" | "unevaluatedProperties" | "propertyNames", value) => {
                self.visit(value)?.in_object()
            }
            ("items" | "prefixItems", Value::Array(schemas)) => {
                let each = schemas.iter().map(|value| Ok(self.visit(value)?.in_array()));
                each.collect::<Result<Vec<_>, _>>()?.into_iter().fold(Weight::default(), Weight::or)
            }
            ("items" | "additionalItems" | "unevaluatedItems" | "contains", value) => {
                self.visit(value)?.in_array()
            }
            ("pattern", Value::String(_)) => Weight { parts: PATTERN, ..Weight::default() },
            ("enum", Value::Array(values)) => Weight { parts: values.len() as u64, ..Weight::default() },
            ("const" | "default" | "examples", _) => Weight::default(),
            (_, Value::Array(_) | Value::Object(_)) => self.visit(value)?,
            (_, Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => Weight::default(),
        })
    }

    fn each(
        &mut self,
        named: &'a Map<String, Value>,
        counted: impl Fn(Weight) -> Weight,
    ) -> Result<Weight, SchemaError> {
        named.values().try_fold(Weight::default(), |sum, value| Ok(sum.and(counted(self.visit(value)?))))
    }

    fn follow(&mut self, reference: &'a str) -> Result<Weight, SchemaError> {
        let Some(pointer) = reference.strip_prefix('#').filter(|p| p.is_empty() || p.starts_with('/')) else {
            return Err(unusable(format!(
                "`$ref` to `{}`: only references inside the schema are taken, such as `#/$defs/name`",
                short(reference)
            )));
        };
        if let Some(open) = self.open.iter_mut().find(|(open, _)| *open == reference) {
            open.1 = true;
            return Ok(Weight { parts: 1, same: 1, ..Weight::default() });
        }
        if let Some(weight) = self.done.get(reference) {
            return Ok(*weight);
        }
        let Some(target) = self.root.pointer(pointer) else {
            return Err(unusable(format!("`$ref` to `{}`: there is nothing", short(reference))));
        };
        self.enter(reference, target)
    }
}

/// A part with an address of its own would have its references start there, and not where we look.
fn refuse_embedded(value: &Value, name: &str, is_root: bool) -> Result<(), SchemaError> {
    match value {
        Value::Array(values) => values.iter().try_for_each(|value| refuse_embedded(value, name, false)),
        Value::Object(members) => {
            if let (false, Some(Value::String(address))) = (is_root, members.get(name)) {
                let address = short(address);
                return Err(unusable(format!(
                    "a part of the schema has the `{name}` `{address}`; only the whole may have one"
                )));
            }
            members.values().try_for_each(|value| refuse_embedded(value, name, false))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

fn too_large(text: impl Into<String>) -> SchemaError {
    SchemaError::TooLarge(text.into())
}

fn unusable(text: impl Into<String>) -> SchemaError {
    SchemaError::Unusable(text.into())
}

fn short(text: &str) -> String {
    text.chars().take(100).flat_map(char::escape_default).collect()
}
