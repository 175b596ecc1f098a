//! Which schemas are taken: those that need nothing from elsewhere, and that end soon whatever they are asked about.
//!
//! A schema comes from whoever wrote the tool or the request, and is asked about in the middle of a session's work.

mod bounds;

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use self::bounds::Bounds;

/// A pattern that looks around is tried in steps; this many are one value's share.
const MAX_BACKTRACKS: usize = 10_000;
/// Bytes of one compiled pattern.
const MAX_PATTERN: usize = 1024 * 1024;

/// Why a schema is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// Whoever is asked about it may not come to an end.
    #[error("{0}")]
    TooLarge(String),
    /// It is no JSON Schema, or not all of it is here.
    #[error("{0}")]
    Unusable(String),
}

/// A schema that was checked, ready to be asked.
pub(crate) struct Schema {
    validator: Validator,
    bounds: Bounds,
}

impl Schema {
    pub fn new(schema: &Value) -> Result<Self, SchemaError> {
        let bounds = Bounds::of(schema)?;
        let patterns = PatternOptions::fancy_regex().backtrack_limit(MAX_BACKTRACKS).size_limit(MAX_PATTERN);
        let built = jsonschema::options().with_pattern_options(patterns).build(schema);
        let validator = built.map_err(|error| {
            let location = error.instance_path().to_string();
            let location = if location.is_empty() { String::new() } else { format!(" at `{location}`") };
            SchemaError::Unusable(format!("this is no valid JSON Schema{location}: {error}"))
        })?;
        Ok(Self { validator, bounds })
    }

    /// What does not fit, or that the value is too deep for a schema that comes back to itself.
    pub fn faults<'a>(
        &'a self,
        value: &'a Value,
    ) -> Result<impl Iterator<Item = jsonschema::ValidationError<'a>>, String> {
        self.bounds.check(value)?;
        Ok(self.validator.iter_errors(value))
    }
}

/// Whether this is a JSON Schema that is taken; the error says where it is none.
pub fn check_schema(schema: &Value) -> Result<(), SchemaError> {
    Schema::new(schema).map(drop)
}

/// Whether the value fits the schema; the error says what does not, or why the schema is not taken.
pub fn check_value(schema: &Value, value: &Value) -> Result<(), String> {
    find_misfit(schema, value).map_err(|misfit| match misfit.instance_path.as_deref() {
        None => misfit.fault,
        Some("") => format!("the value: {}", misfit.fault),
        Some(location) => format!("{location}: {}", misfit.fault),
    })
}

/// What does not fit, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// A JSON pointer into the value, empty for the whole; None if the schema itself is not taken.
    pub instance_path: Option<String>,
    pub fault: String,
}

/// As [`check_value`], with the place by itself.
pub fn find_misfit(schema: &Value, value: &Value) -> Result<(), Misfit> {
    let whole = |fault: String| Misfit { instance_path: None, fault };
    let schema = Schema::new(schema).map_err(|error| whole(format!("the schema is not usable: {error}")))?;
    let first = schema.faults(value).map_err(whole)?.next();
    first.map_or(Ok(()), |fault| {
        Err(Misfit { instance_path: Some(fault.instance_path().to_string()), fault: fault.to_string() })
    })
}

#[cfg(test)]
mod tests;
