//! What a service must tell about itself to be called over HTTP.

use http::{HeaderMap, HeaderName, HeaderValue, header};
use serde_json::Value;

use crate::secret::ProviderKey;
use crate::stream::Decoder;
use crate::{ModelError, ModelRequest};

/// One model API. Everything here is pure; the transport does the rest.
pub(crate) trait Api: Send + Sync + 'static {
    /// Where the service is, if the configuration does not say.
    const BASE_URL: &str;

    /// The name of the dialect whose requests it takes.
    const DIALECT: &str;

    /// What follows the base URL.
    fn path(request: &ModelRequest) -> Result<String, ModelError>;

    fn key_header(key: &ProviderKey) -> (HeaderName, String);

    fn headers(request: &ModelRequest, headers: &mut HeaderMap);

    fn encode(request: &ModelRequest, provider: &str) -> Value;

    /// Where and how the service is asked for the tokens of a request; None if it cannot be.
    fn count(_request: &ModelRequest) -> Option<(String, Value)> {
        None
    }

    /// `seed` makes the ids of calls that the service left without one.
    fn decoder(provider: &str, seed: &str) -> Box<dyn Decoder>;
}

pub(crate) fn bearer(key: &ProviderKey) -> (HeaderName, String) {
    (header::AUTHORIZATION, format!("Bearer {}", key.expose()))
}

pub(crate) fn idempotency(request: &ModelRequest, headers: &mut HeaderMap) {
    let key = request.idempotency_key.as_deref().and_then(|key| HeaderValue::from_str(key).ok());
    if let Some(key) = key {
        headers.insert("idempotency-key", key);
    }
}
