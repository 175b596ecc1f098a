//! Sessions: created, listed, shown, deleted, folded.

mod create;
mod delete;
mod get;
mod list;
mod metadata;
mod record;
mod state;

use riverrun_event::{Cursor, Origin, RawJson, SessionId, Timestamp};
use riverrun_log::SessionRecord;
use riverrun_session::event_time;
use schemars::JsonSchema;
use serde::Serialize;

pub use create::{CreateSession, CreateSessionRequest};
pub use delete::{DeleteSession, delete_session};
pub use get::GetSession;
pub use list::ListSessions;
pub use metadata::{change_metadata, metadata_of};
pub use record::{create_empty_session, create_session};
pub use state::GetState;

use crate::schema;

/// A session in answers.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Session", deny_unknown_fields)]
pub struct SessionView {
    pub session_id: SessionId,
    /// `idle`, `running`, `paused`, …
    status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// The agent of turns that name none.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    metadata: Option<RawJson>,
    created_at: Timestamp,
    updated_at: Timestamp,
    /// The sequence of the last event.
    head: u64,
    /// The first event that was not retired.
    #[schemars(range(min = 1))]
    first_available: u64,
    /// A reader that continues here sees what comes next.
    #[schemars(schema_with = "schema::cursor")]
    cursor: String,
}

impl SessionView {
    pub fn new(record: SessionRecord) -> Self {
        let origin = Origin::new(&record.key.session, record.head.incarnation);
        Self {
            cursor: Cursor::after(record.head.last, origin).to_string(),
            session_id: record.key.session,
            status: record.status,
            title: record.title,
            agent: record.agent,
            tags: record.tags,
            metadata: record.metadata.and_then(|text| RawJson::parse(text).ok()),
            created_at: event_time(record.created_at),
            updated_at: event_time(record.updated_at),
            head: record.head.last.get(),
            first_available: record.head.first_available.get(),
        }
    }
}
