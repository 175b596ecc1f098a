//! Whole sessions out and in.

use bytes::Bytes;
use http::Method;
use http_body_util::BodyExt;
use riverrun_event::{Sequence, SessionId, TurnId};
use serde::{Deserialize, Serialize};

use super::session_path;
use crate::client::{Client, decode};
use crate::error::{Error, Result};
use crate::exchange::{Call, NDJSON};

/// What an import made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Imported {
    pub session_id: SessionId,
    #[serde(default, alias = "head")]
    pub last: Option<Sequence>,
    /// Turns that were open in the file; they have failed with the code `imported`, and run here only if retried.
    #[serde(default)]
    pub ended_turns: Vec<TurnId>,
}

impl Client {
    /// Streams a session's export, piece by piece, to `write`. A cut body is an error, never a short file.
    pub async fn export(
        &self,
        session: &SessionId,
        mut write: impl FnMut(&[u8]) -> std::io::Result<()>,
    ) -> Result<u64> {
        let call = Call::new(Method::GET, format!("{}/export", session_path(session))).accept("*/*");
        let mut body = self.http().open(call).await?.into_body();
        let mut total = 0;
        while let Some(frame) = body.frame().await {
            if let Ok(bytes) = frame.map_err(Error::body)?.into_data() {
                write(&bytes).map_err(Error::cut)?;
                total += bytes.len() as u64;
            }
        }
        Ok(total)
    }

    /// Makes a session from an export.
    pub async fn import(&self, bytes: Bytes) -> Result<Imported> {
        self.import_as(bytes, None).await
    }

    /// The same under another id, beside the session that was exported.
    pub async fn import_as(&self, bytes: Bytes, session: Option<&SessionId>) -> Result<Imported> {
        let path = match session {
            Some(session) => format!("/v1/import?session={session}"),
            None => "/v1/import".to_owned(),
        };
        decode(self.http().fetch(Call::new(Method::POST, path).body(NDJSON, bytes)).await?)
    }
}
