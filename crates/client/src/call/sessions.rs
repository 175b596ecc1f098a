//! Sessions: create, list, read, delete.

use riverrun_event::{Sequence, SessionId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::session_path;
use crate::client::Client;
use crate::error::Result;
use crate::exchange::Query;
use crate::follow::{Follow, FollowOptions};

#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NewSession {
    /// Given, a second create with the same contents gives the same session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
}

/// A session as the catalogue knows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    pub session_id: SessionId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The last sequence of its log.
    #[serde(default)]
    pub head: Sequence,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
}

#[derive(Debug, Clone, Default)]
pub struct SessionFilter {
    pub status: Option<String>,
    /// RFC 3339; sessions that changed at or after it.
    pub since: Option<String>,
    pub tag: Option<String>,
    pub limit: Option<u32>,
    /// Where the last page ended.
    pub cursor: Option<String>,
}

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Page<T> {
    #[serde(alias = "items", alias = "sessions", alias = "actions", alias = "keys")]
    pub data: Vec<T>,
    /// Given when there is more.
    #[serde(default, alias = "cursor", alias = "next")]
    pub next_cursor: Option<String>,
}

impl Client {
    pub async fn create_session(&self, new: &NewSession) -> Result<Session> {
        self.post("/v1/sessions".into(), new).await
    }

    pub async fn sessions(&self, filter: &SessionFilter) -> Result<Page<Session>> {
        let query = Query::default()
            .add("status", filter.status.as_ref())
            .add("since", filter.since.as_ref())
            .add("tag", filter.tag.as_ref())
            .add("limit", filter.limit.map(|limit| limit.to_string()))
            .add("cursor", filter.cursor.as_ref());
        self.get(query.after("/v1/sessions")).await
    }

    pub async fn session(&self, session: &SessionId) -> Result<Session> {
        self.get(session_path(session)).await
    }

    pub async fn delete_session(&self, session: &SessionId) -> Result<()> {
        self.delete(session_path(session)).await
    }

    /// Follows a session. Each sequence is given out once, in order, after any cut; a hole is an error.
    pub fn follow(&self, session: &SessionId, options: FollowOptions) -> Follow {
        Follow::new(self.clone(), session_path(session), options)
    }
}
