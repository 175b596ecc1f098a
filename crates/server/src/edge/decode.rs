//! Decoding of bodies, with problems as errors.

use riverrun_event::json;
use serde::de::DeserializeOwned;

use super::problem::Problem;

/// Checks `bytes` strictly, then decodes them. `T` refuses unknown fields by its own `deny_unknown_fields`.
pub fn decode<T: DeserializeOwned>(bytes: &[u8], limits: &json::JsonLimits) -> Result<T, Problem> {
    Ok(riverrun_api::decode(bytes, limits)?)
}

/// Checks JSON from outside and copies it without white space. A byte order mark in front is skipped.
pub fn compact(bytes: &[u8], limits: &json::JsonLimits) -> Result<String, Problem> {
    Ok(riverrun_api::compact(bytes, limits)?)
}

/// Decodes text that `compact` has checked.
pub fn decode_text<T: DeserializeOwned>(text: &str) -> Result<T, Problem> {
    Ok(riverrun_api::decode_text(text)?)
}
