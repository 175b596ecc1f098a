//! Turns: submit, cancel, retry, steer; the queue; what there is to run.

use riverrun_event::{SessionId, TaskId, ThreadId, TurnId};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::session_path;
use crate::client::Client;
use crate::error::Result;
use crate::exchange::encode;

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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cancelled {
    pub turn_id: TurnId,
    /// `cancelling`, or how the turn had ended before.
    pub status: String,
    pub cursor: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pause {
    /// False lets the task go on.
    pub halts: bool,
    pub reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Paused {
    pub task_id: TaskId,
    /// `paused`, or how the task stands that goes on.
    pub status: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueuedTurn {
    pub turn_id: TurnId,
    pub thread_id: ThreadId,
    pub position: u32,
    #[serde(default)]
    pub preview: String,
}

#[derive(Debug, Deserialize)]
struct Queue {
    queue: Vec<QueuedTurn>,
}

impl Client {
    /// Durable once it returns.
    pub async fn submit(&self, session: &SessionId, turn: &NewTurn) -> Result<Turn> {
        self.post(format!("{}/turns", session_path(session)), turn).await
    }

    /// `mode` is `immediate` or `after_turn`.
    pub async fn cancel(&self, session: &SessionId, turn: &TurnId, mode: &str) -> Result<Cancelled> {
        self.post(format!("{}/cancel", turn_path(session, turn)), &json!({ "mode": mode })).await
    }

    /// Halts a task at its next boundary, or lets it go on.
    pub async fn pause(&self, session: &SessionId, task: &TaskId, pause: &Pause) -> Result<Paused> {
        let verb = if pause.halts { "pause" } else { "resume" };
        let path = format!("{}/tasks/{}/{verb}", session_path(session), encode(task.as_str()));
        let reason = pause.reason.as_ref();
        self.post(path, &reason.map_or_else(|| json!({}), |reason| json!({ "reason": reason }))).await
    }

    pub async fn retry(&self, session: &SessionId, turn: &TurnId) -> Result<Turn> {
        self.post(format!("{}/retry", turn_path(session, turn)), &json!({})).await
    }

    pub async fn steer(&self, session: &SessionId, turn: &TurnId, input: &str) -> Result<Turn> {
        self.post(format!("{}/steer", turn_path(session, turn)), &json!({ "input": input })).await
    }

    pub async fn queue(&self, session: &SessionId) -> Result<Vec<QueuedTurn>> {
        let Queue { queue } = self.get(format!("{}/queue", session_path(session))).await?;
        Ok(queue)
    }

    pub async fn remove_queued(&self, session: &SessionId, turn: &TurnId) -> Result<()> {
        self.delete(queued_path(session, turn)).await
    }

    pub async fn promote_queued(&self, session: &SessionId, turn: &TurnId) -> Result<Vec<QueuedTurn>> {
        let path = format!("{}/promote", queued_path(session, turn));
        let Queue { queue } = self.post(path, &json!({})).await?;
        Ok(queue)
    }

    /// Agents with their tools, and the names that a turn may give.
    pub async fn agents(&self) -> Result<Value> {
        self.get("/v1/agents".to_owned()).await
    }
}

fn turn_path(session: &SessionId, turn: &TurnId) -> String {
    format!("{}/turns/{}", session_path(session), encode(turn.as_str()))
}

fn queued_path(session: &SessionId, turn: &TurnId) -> String {
    format!("{}/queue/{}", session_path(session), encode(turn.as_str()))
}
