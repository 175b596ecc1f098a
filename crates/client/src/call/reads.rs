//! Folded state, tasks and tickets.

use riverrun_event::{Sequence, SessionId, TaskId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::session_path;
use crate::client::Client;
use crate::error::Result;
use crate::exchange::{Query, encode};

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
    /// The folded state, at the head or as it was at a sequence.
    pub async fn state(&self, session: &SessionId, at: Option<Sequence>) -> Result<Value> {
        let query = Query::default().add("at", at.map(|at| at.to_string()));
        self.get(query.after(format!("{}/state", session_path(session)))).await
    }

    /// `{task_id, status, output}`.
    pub async fn task(&self, task: &TaskId) -> Result<Value> {
        self.get(format!("/v1/tasks/{}", encode(task.as_str()))).await
    }

    pub async fn ticket(&self, new: &NewTicket) -> Result<Ticket> {
        self.post("/v1/tickets".into(), new).await
    }
}
