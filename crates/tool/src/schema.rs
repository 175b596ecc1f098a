//! Which schemas are taken: those that end, and that need nothing from elsewhere.

use std::collections::HashSet;

use serde_json::Value;

/// A schema that a model still reads; larger ones are an attack or a mistake.
const MAX_BYTES: usize = 256 * 1024;
/// How many references may lead on from one another.
const MAX_CHAIN: usize = 32;

/// Whether this is a JSON Schema at all; the error says where it is none.
pub fn check_schema(schema: &Value) -> Result<(), String> {
    jsonschema::validator_for(schema).map(drop).map_err(|error| {
        let place = error.instance_path().to_string();
        let place = if place.is_empty() { String::new() } else { format!(" at `{place}`") };
        format!("this is no valid JSON Schema{place}: {error}")
    })
}

/// Err says what is wrong. Nothing is fetched, and a reference that comes back to itself is refused.
pub(crate) fn check(schema: &Value) -> Result<(), String> {
    if !schema.is_object() {
        return Err("the schema is not an object; use {\"type\": \"object\"}".to_owned());
    }
    let size = schema.to_string().len();
    if size > MAX_BYTES {
        return Err(format!("the schema has {size} bytes; at most {MAX_BYTES} are taken"));
    }
    let mut walk = Walk { root: schema, open: vec!["#".to_owned()], done: HashSet::new() };
    walk.visit(schema)
}

struct Walk<'a> {
    root: &'a Value,
    /// The references that we are inside of.
    open: Vec<String>,
    done: HashSet<String>,
}

impl<'a> Walk<'a> {
    fn visit(&mut self, value: &'a Value) -> Result<(), String> {
        match value {
            Value::Array(values) => values.iter().try_for_each(|value| self.visit(value)),
            Value::Object(members) => members.iter().try_for_each(|(name, value)| match name.as_str() {
                "$ref" | "$dynamicRef" | "$recursiveRef" if value.is_string() => self.follow(value),
                "const" | "enum" | "default" | "examples" => Ok(()),
                _ => self.visit(value),
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
        }
    }

    fn follow(&mut self, reference: &'a Value) -> Result<(), String> {
        let reference = reference.as_str().unwrap_or_default();
        let Some(pointer) = reference.strip_prefix('#').filter(|p| p.is_empty() || p.starts_with('/')) else {
            return Err(format!(
                "`$ref` to `{}`: only references inside the schema are taken",
                short(reference)
            ));
        };
        if self.open.iter().any(|open| open == reference) {
            return Err(format!("`$ref` to `{}` comes back to itself", short(reference)));
        }
        if self.open.len() > MAX_CHAIN {
            return Err(format!("more than {MAX_CHAIN} references lead on from one another"));
        }
        let Some(target) = self.root.pointer(pointer) else {
            return Err(format!("`$ref` to `{}`: there is nothing", short(reference)));
        };
        if !self.done.contains(reference) {
            self.open.push(reference.to_owned());
            self.visit(target)?;
            self.open.pop();
            self.done.insert(reference.to_owned());
        }
        Ok(())
    }
}

fn short(text: &str) -> String {
    text.chars().take(100).flat_map(char::escape_default).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn problem(schema: Value) -> String {
        check(&schema).expect_err("the schema is refused")
    }

    #[test]
    fn remote_and_recursive_references_are_refused() {
        assert!(problem(json!({"$ref": "https://a.test/s.json"})).contains("inside the schema"));
        assert!(problem(json!({"$ref": "file:///etc/passwd"})).contains("inside the schema"));
        assert!(problem(json!({"$ref": "#"})).contains("comes back"));
        let tree = json!({"$defs": {"n": {"items": {"$ref": "#/$defs/n"}}}, "$ref": "#/$defs/n"});
        assert!(problem(tree).contains("comes back"));
        let inside = json!({"properties": {"a": {"not": {"$ref": "#/properties/a"}}}});
        assert!(problem(inside).contains("comes back"));
        assert!(problem(json!({"$ref": "#/nowhere"})).contains("nothing"));
        assert!(problem(json!([])).contains("object"));
        assert!(problem(json!({"description": "x".repeat(300_000)})).contains("bytes"));
    }

    #[test]
    fn plain_references_and_properties_named_like_them_are_taken() {
        let schema = json!({"$defs": {"n": {"type": "integer"}}, "properties": {
            "$ref": {"type": "string"}, "a": {"$ref": "#/$defs/n"}, "b": {"$ref": "#/$defs/n"},
        }});
        assert_eq!(check(&schema), Ok(()));
    }
}
