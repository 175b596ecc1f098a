//! The client and its connection to one server.

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::endpoint::Endpoint;
use crate::error::{Error, Result};
use crate::exchange::{Call, Http, JSON};
use crate::transport::{Tcp, Transport};

/// Calls one server with one key. Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct Client {
    http: Arc<Http>,
}

impl Client {
    /// `url` is such as `http://127.0.0.1:7777`. Nothing is sent yet.
    pub fn new(url: &str, key: Option<&str>) -> Result<Self> {
        Self::with_transport(url, key, Box::new(Tcp))
    }

    /// A client whose bytes take another way.
    pub fn with_transport(url: &str, key: Option<&str>, transport: Box<dyn Transport>) -> Result<Self> {
        Ok(Self { http: Arc::new(Http::new(Endpoint::parse(url)?, key, transport)?) })
    }

    pub fn endpoint(&self) -> &Endpoint {
        &self.http.endpoint
    }

    pub(crate) fn http(&self) -> &Http {
        &self.http
    }

    pub(crate) async fn get<T: DeserializeOwned>(&self, path: String) -> Result<T> {
        decode(self.http.fetch(Call::new(Method::GET, path)).await?)
    }

    pub(crate) async fn post<T: DeserializeOwned>(&self, path: String, body: &impl Serialize) -> Result<T> {
        decode(self.http.fetch(Call::new(Method::POST, path).body(JSON, encode(body)?)).await?)
    }

    pub(crate) async fn delete(&self, path: String) -> Result<()> {
        self.http.fetch(Call::new(Method::DELETE, path)).await?;
        Ok(())
    }
}

pub(crate) fn encode(body: &impl Serialize) -> Result<Bytes> {
    serde_json::to_vec(body).map(Bytes::from).map_err(|e| Error::Malformed(format!("request body: {e}")))
}

pub(crate) fn decode<T: DeserializeOwned>(response: Response<Bytes>) -> Result<T> {
    serde_json::from_slice(response.body()).map_err(|e| Error::Malformed(e.to_string()))
}
