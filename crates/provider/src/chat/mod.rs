//! OpenAI-compatible Chat Completions: `POST /chat/completions`, chunks, `[DONE]`.
//!
//! Many servers speak it, each with its own gaps: reasoning under two names or among the parts of the content, call
//! ids or indexes that are absent or all alike, a whole message, usage in one of three places, no `[DONE]`. All of that
//! is read; `finish_reason` alone is never missing.

mod calls;
pub mod check;
mod decode;
mod encode;
mod join;
mod plain;
mod think;

use http::{HeaderMap, HeaderName};
use serde_json::Value;

use crate::api::{Api, bearer};
use crate::secret::ProviderKey;
use crate::stream::{Decoder, SseDecoder};
use crate::{ModelError, ModelRequest};

pub(crate) struct Chat;

impl Api for Chat {
    const BASE_URL: &str = "https://api.openai.com/v1";
    const DIALECT: &str = "chat";

    fn path(_request: &ModelRequest) -> Result<String, ModelError> {
        Ok("/chat/completions".to_owned())
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

    fn decoder(_provider: &str, seed: &str) -> Box<dyn Decoder> {
        Box::new(SseDecoder::new(decode::Chunks::new(seed)))
    }
}

/// The body of a request, and nothing sent.
pub fn encode(request: &ModelRequest, provider: &str) -> Value {
    Chat::encode(request, provider)
}

/// `seed` makes the ids of calls that the service left without one; it must differ from call to call.
pub fn decoder(provider: &str, seed: &str) -> Box<dyn Decoder> {
    Chat::decoder(provider, seed)
}
