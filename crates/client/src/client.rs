//! The client and its connection to one server.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Response};
use riverrun_net::{BaseUrl, Dialer, Io, Transport};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result, UrlError};
use crate::exchange::{Call, Http, JSON};

/// For the name, the connection and the TLS handshake.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Calls one server with one key. Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct Client {
    http: Arc<Http>,
}

impl Client {
    /// `url` is such as `http://127.0.0.1:7777` or `https://riverrun.example`. Nothing is sent yet.
    ///
    /// For `https` the system's certificates are trusted, or those that `SSL_CERT_FILE` or `SSL_CERT_DIR` name.
    pub fn new(url: &str, key: Option<&str>) -> Result<Self> {
        Self::with_transport(url, key, Box::new(Dialer::new(CONNECT_TIMEOUT)))
    }

    /// A client that opens its connections differently: with other certificates, or in a simulation.
    pub fn with_transport(url: &str, key: Option<&str>, transport: Box<dyn Transport>) -> Result<Self> {
        let url = url.trim();
        let base = BaseUrl::parse(url).map_err(|error| UrlError::new(url, error))?;
        Ok(Self { http: Arc::new(Http::new(base, key, transport)?) })
    }

    pub fn endpoint(&self) -> &BaseUrl {
        &self.http.endpoint
    }

    /// A new connection to the server for another protocol, such as WebSocket. Nothing is sent on it, no key either.
    pub async fn dial(&self) -> Result<Box<dyn Io>> {
        self.http.dial().await
    }

    pub(crate) fn http(&self) -> &Http {
        &self.http
    }

    pub(crate) async fn post<T: DeserializeOwned>(&self, path: String, body: &impl Serialize) -> Result<T> {
        decode(self.http.fetch(Call::new(Method::POST, path).body(JSON, encode(body)?)).await?)
    }
}

pub(crate) fn encode(body: &impl Serialize) -> Result<Bytes> {
    serde_json::to_vec(body).map(Bytes::from).map_err(|e| Error::Malformed(format!("request body: {e}")))
}

pub(crate) fn decode<T: DeserializeOwned>(response: Response<Bytes>) -> Result<T> {
    serde_json::from_slice(response.body()).map_err(|e| Error::Malformed(e.to_string()))
}
