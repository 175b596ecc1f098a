//! A frame's JSON, read by member.

use serde_json::Value;

use super::surrogate;

/// A parsed frame.
#[derive(Debug)]
pub(crate) struct Json {
    pub value: Value,
    pub has_lone_surrogates: bool,
}

impl Json {
    pub fn parse(text: &str) -> Result<Self, String> {
        let hidden = surrogate::hide(text);
        let has_lone_surrogates = hidden.is_some();
        let value = serde_json::from_str(hidden.as_deref().unwrap_or(text))
            .map_err(|error| format!("a frame of the stream is not JSON: {error}"))?;
        Ok(Self { value, has_lone_surrogates })
    }

    pub fn text(&self, name: &str) -> &str {
        self.value[name].as_str().unwrap_or_default()
    }

    pub fn number(&self, name: &str) -> Option<u64> {
        self.value[name].as_u64()
    }
}

/// More tokens than any model takes: such a number is a mistake of the service.
const MOST_TOKENS: u64 = 1_000_000_000_000;

/// A count of tokens. Err if the service says something that is none; absent and null are no mistake.
pub(crate) fn tokens(value: &Value) -> Result<Option<u64>, ()> {
    match value {
        Value::Null => Ok(None),
        Value::Number(number) => match number.as_u64().filter(|count| *count <= MOST_TOKENS) {
            Some(count) => Ok(Some(count)),
            None => Err(()),
        },
        Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => Err(()),
    }
}
