//! Tickets, which stand in for a key.

use riverrun_event::SessionId;
use serde::{Deserialize, Serialize};

use crate::client::Client;
use crate::error::Result;

/// A short-lived, single-use stand-in for a key.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ticket {
    pub ticket: String,
    pub expires_in_seconds: u64,
}

/// What a ticket opens.
#[derive(Debug, Clone, Default, Serialize)]
pub struct NewTicket {
    /// One session only; all that the key sees without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// `read` without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
}

impl Client {
    pub async fn ticket(&self, new: &NewTicket) -> Result<Ticket> {
        self.post("/v1/tickets".into(), new).await
    }
}
