//! How a session is made, whoever asks for it.

use riverrun_event::{ErrorCode, EventType, RawJson, Sequence, SessionId, SessionInfo};
use riverrun_log::{Created, NewSession, SessionKey, SessionRecord};
use riverrun_session::log_time;

use super::CreateSessionRequest;
use super::metadata::append_info;
use crate::{ApiError, Identity, Services, not_found};

/// Creates a session, or finds the one that was created with the same contents. What is known about it is its first
/// event. The second value is true if it is new.
pub async fn create_session(
    services: &Services,
    identity: &Identity,
    request: CreateSessionRequest,
) -> Result<(SessionRecord, bool), ApiError> {
    let id = request.session_id.clone().unwrap_or_else(|| SessionId::from_bytes(services.random_id()));
    identity.require_session(&id)?;
    identity.require_agent(request.agent.as_deref())?;
    // A bare name may be that of a foreign agent whose events come through ingest. One with a path is ours or wrong.
    if let Some(agent) = request.agent.as_deref().filter(|agent| agent.contains('/')) {
        services.agents().check(agent)?;
    }
    let key = SessionKey::new(identity.tenant().clone(), id);
    let new = new_session(services, &request);
    let created = insert(services, &key, new.clone()).await?;
    if !created.new && differs(&created.record, &new) {
        let detail = format!("session `{}` exists with another title, agent, tags or metadata", key.session);
        return Err(ApiError::new(ErrorCode::SessionExists, detail).field("sessionId"));
    }
    let lacks_info = created.record.head.last.get() == 0 && has_info(&request);
    if lacks_info {
        let hub = services.hubs().get(&key).await?.ok_or_else(not_found)?;
        append_info(services, &hub, EventType::SessionCreated, &info(&request)).await?;
    }
    let record = services.log().session(&key).await?.ok_or_else(not_found)?;
    Ok((record, created.new))
}

/// Creates a session without title, agent, tags and metadata, whose log begins behind `start_after`.
pub async fn create_empty_session(
    services: &Services,
    identity: &Identity,
    wanted: Option<SessionId>,
    start_after: Sequence,
) -> Result<Created, ApiError> {
    let id = wanted.unwrap_or_else(|| SessionId::from_bytes(services.random_id()));
    identity.require_session(&id)?;
    let key = SessionKey::new(identity.tenant().clone(), id);
    let new = NewSession { start_after, ..new_session(services, &CreateSessionRequest::default()) };
    insert(services, &key, new).await
}

/// Every session of a tenant is made here, and counts against its rate if it is new.
async fn insert(services: &Services, key: &SessionKey, new: NewSession) -> Result<Created, ApiError> {
    services.rates().take_session(&key.tenant)?;
    let created = services.log().create_session(key, new).await?;
    if !created.new {
        services.rates().return_session(&key.tenant);
    }
    Ok(created)
}

fn new_session(services: &Services, request: &CreateSessionRequest) -> NewSession {
    let mut tags = request.tags.clone().unwrap_or_default();
    tags.sort();
    tags.dedup();
    NewSession {
        title: request.title.clone(),
        agent: request.agent.clone(),
        status: "idle".to_owned(),
        tags,
        metadata: request.metadata.as_ref().and_then(|map| serde_json::to_string(map).ok()),
        created_at: log_time(services.now()),
        ..NewSession::default()
    }
}

fn differs(record: &SessionRecord, new: &NewSession) -> bool {
    let other = |given: &Option<String>, stored: &Option<String>| given.is_some() && given != stored;
    other(&new.title, &record.title)
        || other(&new.agent, &record.agent)
        || other(&new.metadata, &record.metadata)
        || !new.tags.is_empty() && new.tags != record.tags
}

fn has_info(request: &CreateSessionRequest) -> bool {
    request.title.is_some() || request.agent.is_some() || request.metadata.is_some() || request.tags.is_some()
}

fn info(request: &CreateSessionRequest) -> SessionInfo {
    SessionInfo {
        title: request.title.clone(),
        agent: request.agent.clone(),
        tags: request.tags.clone(),
        metadata: request.metadata.as_ref().and_then(|map| RawJson::of(map).ok()),
        ..SessionInfo::default()
    }
}
