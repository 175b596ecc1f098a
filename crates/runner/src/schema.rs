//! Does a value fit its JSON Schema?

use serde_json::Value;

pub(crate) fn check(schema: &Value, value: &Value) -> Result<(), String> {
    let validator =
        jsonschema::validator_for(schema).map_err(|error| format!("the schema is not valid: {error}"))?;
    validator.validate(value).map_err(|error| {
        let place = error.instance_path().to_string();
        let place = if place.is_empty() { "the value" } else { &place };
        format!("{place}: {error}")
    })
}
