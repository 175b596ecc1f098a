//! The name of exactly what would run.

use riverrun_tool::ToolDefinition;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// `sha256:…` over the tool's identity and the arguments.
pub(crate) fn digest(definition: &ToolDefinition, arguments: &Value) -> String {
    of(&whole(definition), Some(arguments))
}

/// `sha256:…` over where the tool comes from, its name, its schema and what it sets in motion: another schema or
/// another command line is another tool.
pub(crate) fn identity(definition: &ToolDefinition) -> String {
    of(&whole(definition), None)
}

/// As [`digest`], for a tool that has no definition here.
pub(crate) fn named(source: &str, name: &str, schema: &Value, arguments: Option<&Value>) -> String {
    of(&json!({"source": source, "name": name, "schema": schema}), arguments)
}

fn whole(definition: &ToolDefinition) -> Value {
    let ToolDefinition { source, name, parameters, runs, .. } = definition;
    let mut whole = json!({"source": source, "name": name, "schema": parameters});
    if let Some(sealed) = runs.sealed() {
        whole["runs"] = sealed.clone();
    }
    whole
}

fn of(tool: &Value, arguments: Option<&Value>) -> String {
    let mut whole = tool.clone();
    if let Some(arguments) = arguments {
        whole["arguments"] = arguments.clone();
    }
    let mut text = String::new();
    canonical(&whole, &mut text);
    let digest = Sha256::digest(text);
    digest.iter().fold("sha256:".to_owned(), |name, byte| format!("{name}{byte:02x}"))
}

/// JSON with sorted members and no white space: equal values, equal texts.
fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(members) => {
            let mut names: Vec<&String> = members.keys().collect();
            names.sort_unstable();
            out.push('{');
            for (position, name) in names.into_iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                out.push_str(&Value::String(name.clone()).to_string());
                out.push(':');
                canonical(&members[name], out);
            }
            out.push('}');
        }
        Value::Array(entries) => {
            out.push('[');
            for (position, entry) in entries.iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                canonical(entry, out);
            }
            out.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            out.push_str(&value.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_members_does_not_matter_and_everything_else_does() {
        let schema = json!({"type": "object"});
        let of = |arguments: &str| {
            let arguments = serde_json::from_str(arguments).unwrap();
            named("function", "delete", &schema, Some(&arguments))
        };
        assert_eq!(of(r#"{"a":1,"b":{"c":2,"d":3}}"#), of(r#"{"b":{"d":3,"c":2},"a":1}"#));
        assert_ne!(of(r#"{"a":1}"#), of(r#"{"a":2}"#));
        let other = json!({"type": "object", "title": "x"});
        assert_ne!(named("function", "delete", &schema, None), named("function", "delete", &other, None));
        assert_ne!(named("function", "delete", &schema, None), named("mcp:x", "delete", &schema, None));
    }
}
