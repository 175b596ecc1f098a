//! What a model gave as arguments, against what the tool takes.

use std::fmt::Write;

use serde_json::{Map, Value};

use crate::schema::Schema;
use crate::{ToolError, ToolErrorKind};

/// The most that a model may write as arguments.
pub const MAX_ARGUMENTS: usize = 256 * 1024;
/// Faults that are told at once; the model mends them together.
const MAX_FAULTS: usize = 5;
const MAX_FAULT: usize = 300;

/// A tool's schema, compiled once.
pub struct Arguments {
    tool: String,
    schema: Schema,
}

impl Arguments {
    /// Err says why the schema is not taken.
    pub fn new(tool: &str, schema: &Value) -> Result<Self, String> {
        if !schema.is_object() {
            return Err("the schema is not an object; use {\"type\": \"object\"}".to_owned());
        }
        let schema = Schema::new(schema).map_err(|error| cut(&error.to_string()))?;
        Ok(Self { tool: tool.to_owned(), schema })
    }

    /// The text that the model wrote, as a value that fits the schema. No text at all stands for no arguments.
    pub fn parse(&self, text: &str) -> Result<Value, ToolError> {
        if text.len() > MAX_ARGUMENTS {
            let (tool, size) = (&self.tool, text.len());
            return Err(bad(format!(
                "the arguments of `{tool}` have {size} bytes; at most {MAX_ARGUMENTS} are taken"
            )));
        }
        if text.trim().is_empty() {
            let none = Value::Object(Map::new());
            return self.check(&none).map(|()| none);
        }
        let value: Value = serde_json::from_str(text)
            .map_err(|error| bad(format!("the arguments of `{}` are not JSON: {error}", self.tool)))?;
        self.check(&value).map(|()| value)
    }

    pub fn check(&self, arguments: &Value) -> Result<(), ToolError> {
        if !arguments.is_object() {
            return Err(bad(format!("the arguments of `{}` must be a JSON object", self.tool)));
        }
        let faults = self.schema.faults(arguments);
        let faults = faults.map_err(|problem| bad(format!("the arguments of `{}`: {problem}", self.tool)))?;
        let mut text = String::new();
        for fault in faults.take(MAX_FAULTS) {
            let path = fault.instance_path().to_string();
            let location = if path.is_empty() { "the arguments" } else { path.as_str() };
            let _ = write!(text, "; {location}: {}", cut(&fault.to_string()));
        }
        match text.strip_prefix("; ") {
            Some(faults) => {
                Err(bad(format!("the arguments of `{}` do not fit its schema: {faults}", self.tool)))
            }
            None => Ok(()),
        }
    }
}

fn bad(message: String) -> ToolError {
    ToolError::new(ToolErrorKind::BadArguments, message)
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_FAULT) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(text: &str) -> Result<Value, String> {
        let schema = json!({"type": "object", "required": ["city"], "additionalProperties": false,
            "properties": {"city": {"type": "string"}, "days": {"type": "integer", "maximum": 7}}});
        let arguments = Arguments::new("weather", &schema).unwrap();
        arguments.parse(text).map_err(|error| {
            assert_eq!(error.kind, ToolErrorKind::BadArguments);
            error.message
        })
    }

    #[test]
    fn invalid_json_is_reported_with_its_position() {
        assert_eq!(
            check("{\"city\": \"Huế\",\n oops}").unwrap_err(),
            "the arguments of `weather` are not JSON: key must be a string at line 2 column 2"
        );
        assert!(check("{\"city\":").unwrap_err().contains("line 1 column 8"));
        assert!(check(&"[".repeat(100_000)).unwrap_err().contains("recursion limit"));
        assert!(check(&" ".repeat(MAX_ARGUMENTS + 1)).unwrap_err().contains("bytes"));
    }

    #[test]
    fn a_misfit_is_reported_with_its_path() {
        let message = check(r#"{"days": 9, "town": 1}"#).unwrap_err();
        for part in ["/days", "maximum of 7", "\"city\" is a required property", "town"] {
            assert!(message.contains(part), "{part}: {message}");
        }
        assert!(check("[1]").unwrap_err().contains("must be a JSON object"));
        let long = check(&json!({"city": "x", "days": "y".repeat(5000)}).to_string()).unwrap_err();
        assert!(long.len() < 2000, "{}", long.len());
    }

    #[test]
    fn what_fits_is_taken() {
        assert_eq!(check(r#"{"city":"Huế"}"#), Ok(json!({"city": "Huế"})));
        let none = Arguments::new("now", &json!({"type": "object"})).unwrap();
        assert_eq!(none.parse("  "), Ok(json!({})));
    }

    #[test]
    fn an_invalid_schema_is_reported() {
        assert!(Arguments::new("t", &json!({"type": "objet"})).is_err());
    }
}
