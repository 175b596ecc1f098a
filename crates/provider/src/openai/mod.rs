//! OpenAI Responses: `POST /responses`, named SSE events, one of four terminal events.
//!
//! Requests are stateless (`store: false`): the whole history goes along, reasoning as encrypted items that only this
//! provider gets back.

pub mod check;
mod decode;
mod encode;

use http::{HeaderMap, HeaderName};
use serde_json::Value;

use crate::api::{Api, bearer};
use crate::secret::ProviderKey;
use crate::stream::{Decoder, SseDecoder};
use crate::{ModelError, ModelRequest};

pub(crate) struct OpenAi;

impl Api for OpenAi {
    const BASE_URL: &str = "https://api.openai.com/v1";
    const DIALECT: &str = "responses";

    fn path(_request: &ModelRequest) -> Result<String, ModelError> {
        Ok("/responses".to_owned())
    }

    fn key_header(key: &ProviderKey) -> (HeaderName, String) {
        bearer(key)
    }

    fn headers(request: &ModelRequest, headers: &mut HeaderMap) {
        crate::api::idempotency(request, headers);
    }

    fn encode(request: &ModelRequest, provider: &str) -> Value {
        encode::encode(request, provider)
    }

    fn decoder(provider: &str, seed: &str) -> Box<dyn Decoder> {
        Box::new(SseDecoder::new(decode::Responses::new(provider, seed)))
    }
}

/// The body of a request, and nothing sent.
pub fn encode(request: &ModelRequest, provider: &str) -> Value {
    OpenAi::encode(request, provider)
}

/// `seed` makes the ids of calls that the service left without one; it must differ from call to call.
pub fn decoder(provider: &str, seed: &str) -> Box<dyn Decoder> {
    OpenAi::decoder(provider, seed)
}
