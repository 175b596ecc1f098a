//! Sessions: made, listed, looked at, deleted.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use riverrun_event::{
    Cursor, CursorOrigin, EventScope, EventType, RawJson, Sequence, SessionId, SessionInfo, Timestamp,
};
use riverrun_log::{Created, PageRequest, SessionKey, SessionQuery, SessionRecord, SessionSpec};
use serde::{Deserialize, Serialize};

use super::{idempotency, json};
use crate::app::App;
use crate::edge::{
    Caller, FromParams, OptionalText, Params, PathId, Problem, Scope as Right, StrictQuery, decode_text,
    not_found,
};
use riverrun_session::{Batch, Hub, draft_of};

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct NewSessionBody {
    pub session_id: Option<SessionId>,
    pub agent: Option<String>,
    pub title: Option<String>,
    pub metadata: Option<serde_json::Map<String, serde_json::Value>>,
    pub tags: Option<Vec<String>>,
}

/// A session in answers.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionView {
    session_id: SessionId,
    status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<RawJson>,
    created_at: Timestamp,
    updated_at: Timestamp,
    /// The last event's sequence.
    head: u64,
    first_available: u64,
    cursor: String,
}

impl SessionView {
    pub(crate) fn new(record: SessionRecord) -> Self {
        let origin = CursorOrigin::new(&record.key.session, record.head.incarnation);
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

pub(crate) fn event_time(time: riverrun_log::UnixMillis) -> Timestamp {
    Timestamp::from_millis(i64::try_from(time.millis()).unwrap_or(i64::MAX))
}

pub async fn post(
    State(app): State<App>,
    caller: Caller,
    StrictQuery(()): StrictQuery<()>,
    headers: HeaderMap,
    OptionalText(text): OptionalText,
) -> Result<Response, Problem> {
    caller.require(Right::Write)?;
    let attempt = idempotency::begin(&app, &caller, &headers, &idempotency_route(&caller)).await?;
    let digest = idempotency::digest(text.as_bytes());
    if let Some(again) =
        attempt.as_ref().map(|attempt| idempotency::repeated_attempt(attempt, &digest)).transpose()?.flatten()
    {
        return Ok(again);
    }
    let mut body: NewSessionBody =
        if text.is_empty() { NewSessionBody::default() } else { decode_text(&text)? };
    if let (None, Some(attempt)) = (&body.session_id, &attempt) {
        body.session_id = Some(SessionId::from_bytes(attempt.id(&digest)));
    }
    let (record, new) = create(&app, &caller, body).await?;
    let status = if new { StatusCode::CREATED } else { StatusCode::OK };
    let location = format!("/v1/sessions/{}", record.key.session);
    let view = serde_json::to_string(&SessionView::new(record)).expect("a view has string keys");
    if let Some(attempt) = &attempt {
        attempt.remember(app.services(), digest, status.as_u16(), &view).await?;
    }
    let mut response = (status, [(CONTENT_TYPE, "application/json")], view).into_response();
    if let Ok(location) = location.parse() {
        response.headers_mut().insert(http::header::LOCATION, location);
    }
    Ok(response)
}

/// What an idempotency key counts for. A page's keys are its own, so that it is never answered with what somebody else
/// was told about another session.
fn idempotency_route(caller: &Caller) -> String {
    let page = caller.page_id().map_or(String::new(), |id| format!(" {id}"));
    format!("POST /v1/sessions{page}")
}

/// Makes a session, or finds the one that was made with the same words. What was said about it is its first event.
pub(crate) async fn create(
    app: &App,
    caller: &Caller,
    body: NewSessionBody,
) -> Result<(SessionRecord, bool), Problem> {
    let id = match body.session_id.clone() {
        Some(id) => id,
        None => SessionId::from_bytes(random_id(app)?),
    };
    caller.require_session(&id)?;
    caller.require_agent(body.agent.as_deref())?;
    // A bare name may be that of a foreign agent whose events come through ingest. One with a path is ours or wrong.
    if let Some(agent) = body.agent.as_deref().filter(|agent| agent.contains('/')) {
        app.agents().check(agent)?;
    }
    let key = SessionKey::new(caller.tenant().clone(), id);
    let new = new_session(app, &body);
    let created = make(app, caller, &key, new.clone()).await?;
    if !created.new && differs(&created.record, &new) {
        let detail = format!("session `{}` exists with another title, agent, tags or metadata", key.session);
        return Err(Problem::new(riverrun_event::ErrorCode::SessionExists, detail).field("sessionId"));
    }
    let untold = created.record.head.last.get() == 0 && says_something(&body);
    if untold {
        let hub = app.hubs().get(&key).await?.ok_or_else(not_found)?;
        say(app, &hub, EventType::SessionCreated, &info(&body)).await?;
    }
    let record = app.log().session(&key).await?.ok_or_else(not_found)?;
    Ok((record, created.new))
}

/// Makes a session of which nothing is said, whose log begins behind `start_after`.
pub(super) async fn create_empty(
    app: &App,
    caller: &Caller,
    wanted: Option<SessionId>,
    start_after: Sequence,
) -> Result<Created, Problem> {
    let id = match wanted {
        Some(id) => id,
        None => SessionId::from_bytes(random_id(app)?),
    };
    caller.require_session(&id)?;
    let key = SessionKey::new(caller.tenant().clone(), id);
    let new = SessionSpec { start_after, ..new_session(app, &NewSessionBody::default()) };
    make(app, caller, &key, new).await
}

/// Every session of a tenant is made here, and counts against its rate if it is new.
async fn make(app: &App, caller: &Caller, key: &SessionKey, new: SessionSpec) -> Result<Created, Problem> {
    app.edge().take_session(caller)?;
    let created = app.log().create_session(key, new).await?;
    if !created.new {
        app.edge().return_session(caller);
    }
    Ok(created)
}

fn new_session(app: &App, body: &NewSessionBody) -> SessionSpec {
    let mut tags = body.tags.clone().unwrap_or_default();
    tags.sort();
    tags.dedup();
    SessionSpec {
        title: body.title.clone(),
        agent: body.agent.clone(),
        status: "idle".to_owned(),
        tags,
        metadata: body.metadata.as_ref().and_then(|map| serde_json::to_string(map).ok()),
        created_at: riverrun_session::log_time(app.now()),
        ..SessionSpec::default()
    }
}

/// An id that sorts by time: 48 bits of milliseconds, then 80 random ones.
pub(crate) fn random_id(app: &App) -> Result<[u8; 16], Problem> {
    let mut bytes = [0; 16];
    let failed = |_| Problem::new(riverrun_event::ErrorCode::Internal, "no randomness");
    getrandom::fill(&mut bytes[6..]).map_err(failed)?;
    bytes[..6].copy_from_slice(&app.now().millis().to_be_bytes()[2..]);
    Ok(bytes)
}

fn differs(record: &SessionRecord, new: &SessionSpec) -> bool {
    let other = |said: &Option<String>, stored: &Option<String>| said.is_some() && said != stored;
    other(&new.title, &record.title)
        || other(&new.agent, &record.agent)
        || other(&new.metadata, &record.metadata)
        || !new.tags.is_empty() && new.tags != record.tags
}

fn says_something(body: &NewSessionBody) -> bool {
    body.title.is_some() || body.agent.is_some() || body.metadata.is_some() || body.tags.is_some()
}

fn info(body: &NewSessionBody) -> SessionInfo {
    SessionInfo {
        title: body.title.clone(),
        agent: body.agent.clone(),
        tags: body.tags.clone(),
        metadata: body.metadata.as_ref().and_then(|map| RawJson::of(map).ok()),
        ..SessionInfo::default()
    }
}

/// Appends what is said about a session.
async fn say(app: &App, hub: &Hub, kind: EventType, info: &SessionInfo) -> Result<(), Problem> {
    let event = draft_of(kind, &EventScope::default(), info)?;
    app.append(hub, &Batch { events: vec![event], ..Batch::default() }).await?;
    Ok(())
}

/// What is kept in the metadata of a session.
pub(crate) fn metadata_of(record: &SessionRecord) -> serde_json::Map<String, serde_json::Value> {
    record.metadata.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

/// Changes the metadata of a session: the record behind the change.
pub(crate) async fn change_metadata(
    app: &App,
    hub: &Hub,
    change: impl FnOnce(&mut serde_json::Map<String, serde_json::Value>),
) -> Result<SessionRecord, Problem> {
    // Of two who change it at once the second sees what the first did.
    let _one_by_one = hub.describing.lock().await;
    let record = app.log().session(&hub.key).await?.ok_or_else(not_found)?;
    let mut metadata = metadata_of(&record);
    change(&mut metadata);
    let metadata = Some(RawJson::of(&metadata).unwrap_or_default());
    say(app, hub, EventType::SessionUpdated, &SessionInfo { metadata, ..SessionInfo::default() }).await?;
    app.log().session(&hub.key).await?.ok_or_else(not_found)
}

#[derive(Debug)]
pub struct ListQuery {
    pub status: Option<String>,
    pub tag: Option<String>,
    pub since: Option<Timestamp>,
    pub page: PageRequest,
}

impl FromParams for ListQuery {
    const NAMES: &'static [&'static str] = &["status", "tag", "since", "limit", "cursor"];
    fn from_params(params: &Params) -> Result<Self, Problem> {
        let since = params.get("since").map(Timestamp::parse).transpose();
        Ok(Self {
            status: params.get("status").map(str::to_owned),
            tag: params.get("tag").map(str::to_owned),
            since: since.map_err(|error| crate::edge::invalid("since", &error))?,
            page: page(params)?,
        })
    }
}

pub(super) fn page(params: &Params) -> Result<PageRequest, Problem> {
    Ok(PageRequest {
        cursor: params.get("cursor").map(str::to_owned),
        limit: params.limit("limit", 50, 1000)?,
    })
}

pub async fn list(
    State(app): State<App>,
    caller: Caller,
    StrictQuery(query): StrictQuery<ListQuery>,
) -> Result<Response, Problem> {
    caller.require(Right::Read)?;
    Ok(json(StatusCode::OK, &find(&app, &caller, query).await?))
}

/// One page of sessions.
#[derive(Debug, Serialize)]
pub(crate) struct Sessions {
    sessions: Vec<SessionView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
}

pub(crate) async fn find(app: &App, caller: &Caller, query: ListQuery) -> Result<Sessions, Problem> {
    caller.require_all_sessions()?;
    // The server's own session is listed for who asks for it.
    let is_asked = query.tag.as_deref() == Some(riverrun_session::JOBS_TAG);
    let query = SessionQuery {
        tenant: caller.tenant().clone(),
        status: query.status,
        tag: query.tag,
        updated_from: query.since.map(riverrun_session::log_time),
        updated_before: None,
        page: query.page,
    };
    let found = app.log().sessions(query).await?;
    let items =
        found.items.into_iter().filter(|found| is_asked || !riverrun_session::is_jobs(&found.key.session));
    let sessions = items.map(SessionView::new).collect();
    Ok(Sessions { sessions, cursor: found.next })
}

pub async fn get(
    State(app): State<App>,
    caller: Caller,
    PathId(session): PathId,
    StrictQuery(()): StrictQuery<()>,
) -> Result<Response, Problem> {
    caller.require(Right::Read)?;
    Ok(json(StatusCode::OK, &look_at(&app, &caller, &session).await?))
}

pub(crate) async fn look_at(app: &App, caller: &Caller, session: &str) -> Result<SessionView, Problem> {
    let hub = app.hub(caller, session).await?;
    let record = app.log().session(&hub.key).await?.ok_or_else(not_found)?;
    Ok(SessionView::new(record))
}

pub async fn delete(
    State(app): State<App>,
    caller: Caller,
    PathId(session): PathId,
    StrictQuery(()): StrictQuery<()>,
) -> Result<Response, Problem> {
    caller.require(Right::Write)?;
    remove(&app, &caller, &session).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Deletes a session, ends its runs and cuts its readers.
pub(crate) async fn remove(app: &App, caller: &Caller, session: &str) -> Result<(), Problem> {
    let hub = app.hub(caller, session).await?;
    app.sessions().note_deletion(&hub).await;
    if app.sessions().delete(&hub).await? { Ok(()) } else { Err(not_found()) }
}
