//! Actions: what waits for a decision, across sessions or in one.

mod decide;
mod list;
mod list_of_session;

use riverrun_event::{ActionId, RawJson, Sequence, SessionId, TaskId, Timestamp, TurnId};
use riverrun_log::{ActionQuery, ActionRecord, PageRequest};
use riverrun_session::event_time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use decide::{DecideAction, outdated_decision};
pub use list::ListActions;
pub use list_of_session::ListSessionActions;

use crate::{ApiError, RequestContext};

/// Which actions a list has: those that wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum WantedStatus {
    Pending,
}

/// An action in answers.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Action", deny_unknown_fields)]
pub struct ActionView {
    action_id: ActionId,
    session_id: SessionId,
    #[schemars(extend("enum" = ["pending", "resolved"]))]
    status: &'static str,
    /// The sequence of its event.
    sequence: Sequence,
    required_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn_id: Option<TurnId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<TaskId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    action_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<String>,
    /// The digest of exactly what will run; a decision names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    /// The payload of `action.required`.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    request: RawJson,
}

/// The members of a request that answers name themselves.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct KnownMembers {
    action_type: Option<String>,
    tool_name: Option<String>,
    prompt: Option<String>,
    digest: Option<String>,
}

/// One page of actions.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ActionPage {
    actions: Vec<ActionView>,
    /// Send it as `cursor` for the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
}

impl ActionView {
    fn new(record: ActionRecord) -> Self {
        let text = String::from_utf8_lossy(&record.opened.body).into_owned();
        let known: KnownMembers = serde_json::from_str(&text).unwrap_or_default();
        Self {
            action_type: known.action_type,
            tool_name: known.tool_name,
            prompt: known.prompt,
            digest: known.digest,
            action_id: record.opened.action,
            session_id: record.key.session,
            status: if record.resolution.is_some() { "resolved" } else { "pending" },
            sequence: record.opened.sequence,
            required_at: event_time(record.opened.opened_at),
            expires_at: record.opened.expires_at.map(event_time),
            turn_id: record.opened.turn,
            task_id: record.opened.task,
            request: RawJson::parse(text).unwrap_or_else(|_| RawJson::empty_object()),
        }
    }
}

/// What waits for a decision, in one session or in all of them.
async fn pending_actions(
    context: &RequestContext,
    session: Option<&str>,
    page: PageRequest,
) -> Result<ActionPage, ApiError> {
    let identity = context.identity();
    let session = match session {
        Some(session) => Some(context.hub(session).await?.session().clone()),
        None => {
            identity.require_all_sessions()?;
            None
        }
    };
    let query = ActionQuery { tenant: identity.tenant().clone(), session, page };
    let found = context.services().log().pending_actions(query).await?;
    let actions = found.items.into_iter().map(ActionView::new).collect();
    Ok(ActionPage { actions, cursor: found.next })
}
