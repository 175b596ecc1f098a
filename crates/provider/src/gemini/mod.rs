//! Gemini: `POST /models/MODEL:streamGenerateContent?alt=sse`, whole responses as frames, ended by the body's end.
//!
//! The terminal is the finish reason; thought signatures go back with the parts that they came with.

pub mod check;
mod decode;
mod encode;

use http::{HeaderMap, HeaderName};
use serde_json::Value;

use crate::api::Api;
use crate::secret::ProviderKey;
use crate::stream::{Decoder, SseDecoder};
use crate::{Category, ModelError, ModelRequest};

pub(crate) struct Gemini;

impl Api for Gemini {
    const BASE_URL: &str = "https://generativelanguage.googleapis.com/v1beta";
    const DIALECT: &str = "gemini";

    fn path(request: &ModelRequest) -> Result<String, ModelError> {
        Ok(format!("{}:streamGenerateContent?alt=sse", model_path(&request.model)?))
    }

    fn count(request: &ModelRequest) -> Option<(String, Value)> {
        let path = format!("{}:countTokens", model_path(&request.model).ok()?);
        Some((path, Value::Object(request.verbatim.clone()?)))
    }

    fn key_header(key: &ProviderKey) -> (HeaderName, String) {
        (HeaderName::from_static("x-goog-api-key"), key.expose().to_owned())
    }

    fn headers(_request: &ModelRequest, _headers: &mut HeaderMap) {}

    fn encode(request: &ModelRequest, provider: &str) -> Value {
        encode::encode(request, provider)
    }

    fn decoder(provider: &str, seed: &str) -> Box<dyn Decoder> {
        Box::new(SseDecoder::new(decode::Responses::new(provider, seed)))
    }
}

/// The model is part of the address, so it may hold nothing that could lead elsewhere.
fn model_path(name: &str) -> Result<String, ModelError> {
    let model = name.strip_prefix("models/").unwrap_or(name);
    let is_safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if model.is_empty() || !model.chars().all(is_safe) || model.contains("..") {
        let message = format!("`{name}` is not a model's name: letters, digits, - _ .");
        return Err(ModelError::new(Category::InvalidRequest, message));
    }
    Ok(format!("/models/{model}"))
}

/// The body of a request, and nothing sent.
pub fn encode(request: &ModelRequest, provider: &str) -> Value {
    Gemini::encode(request, provider)
}

/// `seed` makes the ids of calls that the service left without one; it must differ from call to call.
pub fn decoder(provider: &str, seed: &str) -> Box<dyn Decoder> {
    Gemini::decoder(provider, seed)
}
