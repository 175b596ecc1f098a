//! Folded state, tasks and tickets.

use riverrun_event::{Sequence, SessionId, TaskId};
use serde::Deserialize;
use serde_json::{Value, json};

use super::session_path;
use crate::client::Client;
use crate::error::Result;
use crate::exchange::{Query, encode};

/// A short-lived, single-use stand-in for a key.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ticket {
    pub ticket: String,
    #[serde(default)]
    pub expires_at: Option<String>,
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

    /// A ticket for one session, or for what the key itself may do.
    pub async fn ticket(&self, session: Option<&SessionId>) -> Result<Ticket> {
        let body = match session {
            Some(session) => json!({ "sessionId": session }),
            None => json!({}),
        };
        self.post("/v1/tickets".into(), &body).await
    }
}
