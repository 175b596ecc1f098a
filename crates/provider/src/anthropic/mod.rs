//! Anthropic Messages: `POST /v1/messages`, blocks one after the other, `message_stop`.
//!
//! Thinking blocks carry a signature and go back byte for byte, first in their message.

pub mod check;
mod decode;
mod encode;

use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use crate::api::Api;
use crate::secret::ProviderKey;
use crate::stream::{Decoder, SseDecoder};
use crate::{ModelError, ModelRequest};

pub(crate) struct Anthropic;

impl Api for Anthropic {
    const BASE_URL: &str = "https://api.anthropic.com/v1";
    const DIALECT: &str = "anthropic";

    fn path(_request: &ModelRequest) -> Result<String, ModelError> {
        Ok("/messages".to_owned())
    }

    fn key_header(key: &ProviderKey) -> (HeaderName, String) {
        (HeaderName::from_static("x-api-key"), key.expose().to_owned())
    }

    fn headers(request: &ModelRequest, headers: &mut HeaderMap) {
        headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
        let beta = request.verbatim.as_ref().and_then(|body| body.get("anthropic-beta")?.as_str());
        if let Some(beta) = beta.and_then(|beta| HeaderValue::from_str(beta).ok()) {
            headers.insert("anthropic-beta", beta);
        }
    }

    fn encode(request: &ModelRequest, provider: &str) -> Value {
        encode::encode(request, provider)
    }

    fn count(request: &ModelRequest) -> Option<(String, Value)> {
        let mut body = request.verbatim.clone()?;
        body.remove("anthropic-beta");
        body.insert("model".to_owned(), request.model.as_str().into());
        Some(("/messages/count_tokens".to_owned(), Value::Object(body)))
    }

    fn decoder(_provider: &str, _seed: &str) -> Box<dyn Decoder> {
        Box::new(SseDecoder::new(decode::Messages::default()))
    }
}

/// The body of a request, and nothing sent.
pub fn encode(request: &ModelRequest, provider: &str) -> Value {
    Anthropic::encode(request, provider)
}

/// `seed` makes the ids of calls that the service left without one; it must differ from call to call.
pub fn decoder(provider: &str, seed: &str) -> Box<dyn Decoder> {
    Anthropic::decoder(provider, seed)
}
