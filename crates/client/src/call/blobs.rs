//! Blobs: bytes too large for an event.

use bytes::Bytes;
use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::client::{Client, decode};
use crate::error::Result;
use crate::exchange::{Call, encode};

/// A stored blob.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Blob {
    #[serde(rename = "ref")]
    pub reference: String,
    #[serde(default)]
    pub size: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

impl Client {
    /// Stores bytes; the same bytes give the same reference.
    pub async fn put_blob(&self, media_type: &str, bytes: Bytes) -> Result<Blob> {
        let mut call = Call::new(Method::PUT, "/v1/blobs").header("content-type", media_type)?;
        call.body = crate::exchange::full(bytes);
        decode(self.http().fetch(call).await?)
    }

    pub async fn blob(&self, reference: &str) -> Result<Bytes> {
        let call = Call::new(Method::GET, format!("/v1/blobs/{}", encode(reference))).accept("*/*");
        Ok(self.http().fetch(call).await?.into_body())
    }

    /// Puts the texts back that an event gave away because it was too large.
    pub async fn restore(&self, event: &mut Value) -> Result<()> {
        let spilled = event["refs"]["spilled"].as_array().cloned().unwrap_or_default();
        for text in &spilled {
            let (Some(path), Some(reference)) = (text["path"].as_str(), text["ref"].as_str()) else {
                continue;
            };
            let whole = self.blob(reference).await?;
            if let Some(place) = event.pointer_mut(path) {
                *place = String::from_utf8_lossy(&whole).into();
            }
        }
        Ok(())
    }
}
