//! Actions: what waits for a decision, and the decision.

use riverrun_event::{ActionId, SessionId, TurnId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Page, session_path};
use crate::client::Client;
use crate::error::Result;
use crate::exchange::{Query, encode};

/// An action as the catalogue knows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Action {
    pub action_id: ActionId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// What `action.required` said, whole.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub request: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DecisionKind {
    Approve,
    Edit,
    Reject,
    Respond,
}

/// A decision names the digest of exactly what will run.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    pub decision: DecisionKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    #[serde(rename = "arguments", skip_serializing_if = "Option::is_none")]
    pub raw_arguments: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub always: Option<bool>,
}

impl Client {
    /// Actions of every session of the key's tenant.
    pub async fn actions(&self, status: Option<&str>, cursor: Option<&str>) -> Result<Page<Action>> {
        self.get(Query::default().add("status", status).add("cursor", cursor).after("/v1/actions")).await
    }

    pub async fn session_actions(&self, session: &SessionId) -> Result<Page<Action>> {
        self.get(format!("{}/actions", session_path(session))).await
    }

    pub async fn decide(&self, session: &SessionId, action: &ActionId, decision: &Decision) -> Result<Value> {
        self.post(format!("{}/actions/{}", session_path(session), encode(action.as_str())), decision).await
    }
}

impl Client {
    /// Makes a link by which anybody who has it may read the session up to now.
    pub async fn create_share(&self, session: &SessionId, new: &NewShare) -> Result<Share> {
        self.post(format!("{}/shares", session_path(session)), new).await
    }

    /// The links to a session, also those that no longer work, the oldest first.
    pub async fn shares(&self, session: &SessionId) -> Result<Vec<Share>> {
        let Shares { shares } = self.get(format!("{}/shares", session_path(session))).await?;
        Ok(shares)
    }

    /// Revokes a link.
    pub async fn revoke_share(&self, session: &SessionId, share: &str) -> Result<()> {
        self.delete(format!("{}/shares/{}", session_path(session), encode(share))).await
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NewShare {
    /// Default: the session's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// How long the link works, in seconds; 30 days without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_in: Option<u64>,
}

/// A link to a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Share {
    pub share_id: String,
    pub url: String,
    pub title: String,
    /// The last event that its readers see.
    pub through: u64,
    pub created_at: String,
    pub expires_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<String>,
    /// `live`, `expired` or `revoked`.
    pub status: String,
}

#[derive(Deserialize)]
struct Shares {
    shares: Vec<Share>,
}
