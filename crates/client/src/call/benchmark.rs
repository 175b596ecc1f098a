//! The benchmark trials of a session as a file.

use bytes::Bytes;
use http::Method;
use riverrun_event::SessionId;

use super::session_path;
use crate::client::Client;
use crate::error::Result;
use crate::exchange::{Call, encode};

impl Client {
    /// The benchmark trials of a session as `json`, `ndjson` or `csv`.
    pub async fn benchmark(&self, session: &SessionId, format: &str) -> Result<Bytes> {
        let path = format!("{}/benchmark?format={}", session_path(session), encode(format));
        Ok(self.http().fetch(Call::new(Method::GET, path).accept("*/*")).await?.into_body())
    }
}
