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

    /// The decisions that were given for always in a session.
    pub async fn rules(&self, session: &SessionId) -> Result<Vec<Rule>> {
        let Rules { rules } = self.get(format!("{}/rules", session_path(session))).await?;
        Ok(rules)
    }

    /// Takes such a decision back: the tool is asked about anew.
    pub async fn revoke_rule(&self, session: &SessionId, rule: &str) -> Result<()> {
        self.delete(format!("{}/rules/{}", session_path(session), encode(rule))).await
    }
}

/// A decision that holds from now on, for one tool and one agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    pub rule_id: String,
    /// The identity of the tool, with its schema and what it sets in motion.
    pub tool: String,
    pub tool_name: String,
    pub agent: String,
    /// `approve` or `reject`.
    pub decision: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<String>,
}

#[derive(Deserialize)]
struct Rules {
    rules: Vec<Rule>,
}
