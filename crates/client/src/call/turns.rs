//! Turns: submit.

use riverrun_event::{SessionId, TaskId, ThreadId, TurnId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::session_path;
use crate::client::Client;
use crate::error::Result;

#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NewTurn {
    /// A text, or parts.
    pub input: Value,
    /// Names the turn: the same again with the same contents answers the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// `queue`, `reject`, `interrupt` or `steer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// A turn that is durable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Turn {
    pub turn_id: TurnId,
    pub task_id: TaskId,
    pub run_id: String,
    pub status: String,
    /// A follower that begins here sees the whole turn.
    pub cursor: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
}

impl Client {
    /// Durable once it returns.
    pub async fn submit(&self, session: &SessionId, turn: &NewTurn) -> Result<Turn> {
        self.post(format!("{}/turns", session_path(session)), turn).await
    }
}
