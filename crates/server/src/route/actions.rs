//! Actions: what waits for a decision, across sessions or in one.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use riverrun_event::{ActionId, RawJson, SessionId, TaskId, Timestamp, TurnId};
use riverrun_log::{ActionQuery, ActionRecord, PageRequest};
use serde::{Deserialize, Serialize};

use super::json;
use crate::app::App;
use crate::deliver::one_of;
use crate::edge::{Caller, FromParams, Params, PathId, Problem, Scope, StrictQuery};
use riverrun_api::page_request;
use riverrun_session::event_time;

#[derive(Debug)]
pub struct Query {
    page: PageRequest,
}

impl FromParams for Query {
    const NAMES: &'static [&'static str] = &["status", "limit", "cursor"];
    fn from_params(params: &Params) -> Result<Self, Problem> {
        match params.get("status") {
            None | Some("pending") => Ok(Self { page: page_request(params.parsed("limit")?, params.get("cursor").map(str::to_owned))? }),
            Some(other) => Err(one_of("status", other, "pending")),
        }
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ActionView {
    action_id: ActionId,
    session_id: SessionId,
    status: &'static str,
    sequence: u64,
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
    /// Of exactly what will run; a decision names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    /// What `action.required` said.
    request: RawJson,
}

/// What of a request is needed at once.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Known {
    action_type: Option<String>,
    tool_name: Option<String>,
    prompt: Option<String>,
    digest: Option<String>,
}

/// One page of actions.
#[derive(Debug, Serialize)]
pub(crate) struct Actions {
    actions: Vec<ActionView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
}

fn view(record: ActionRecord) -> ActionView {
    let text = String::from_utf8_lossy(&record.opened.body).into_owned();
    let known: Known = serde_json::from_str(&text).unwrap_or_default();
    ActionView {
        action_type: known.action_type,
        tool_name: known.tool_name,
        prompt: known.prompt,
        digest: known.digest,
        action_id: record.opened.action,
        session_id: record.key.session,
        status: if record.resolution.is_some() { "resolved" } else { "pending" },
        sequence: record.opened.sequence.get(),
        required_at: event_time(record.opened.opened_at),
        expires_at: record.opened.expires_at.map(event_time),
        turn_id: record.opened.turn,
        task_id: record.opened.task,
        request: RawJson::parse(text).unwrap_or_else(|_| RawJson::empty_object()),
    }
}

pub async fn all(
    State(app): State<App>,
    caller: Caller,
    StrictQuery(query): StrictQuery<Query>,
) -> Result<Response, Problem> {
    caller.require(Scope::Read)?;
    Ok(json(StatusCode::OK, &pending(&app, &caller, None, query.page).await?))
}

pub async fn of_session(
    State(app): State<App>,
    caller: Caller,
    PathId(session): PathId,
    StrictQuery(query): StrictQuery<Query>,
) -> Result<Response, Problem> {
    caller.require(Scope::Read)?;
    Ok(json(StatusCode::OK, &pending(&app, &caller, Some(&session), query.page).await?))
}

/// What waits for a decision, in one session or in all of them.
pub(crate) async fn pending(
    app: &App,
    caller: &Caller,
    session: Option<&str>,
    page: PageRequest,
) -> Result<Actions, Problem> {
    let session = match session {
        Some(session) => Some(app.hub(caller, session).await?.session().clone()),
        None => {
            caller.require_all_sessions()?;
            None
        }
    };
    let query = ActionQuery { tenant: caller.tenant().clone(), session, page };
    let found = app.log().pending_actions(query).await?;
    let actions = found.items.into_iter().map(view).collect();
    Ok(Actions { actions, cursor: found.next })
}
