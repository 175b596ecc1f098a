//! The metadata of a session, which callers read and change.

use riverrun_event::{EventType, RawJson, Scope, SessionInfo};
use riverrun_log::SessionRecord;
use riverrun_session::{Batch, Hub, Source, draft_of};
use serde_json::{Map, Value};

use crate::{ApiError, Services, not_found};

/// The metadata that is stored with a session.
pub fn metadata_of(record: &SessionRecord) -> Map<String, Value> {
    record.metadata.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

/// Changes the metadata of a session, and answers the record after the change.
pub async fn change_metadata(
    services: &Services,
    hub: &Hub,
    change: impl FnOnce(&mut Map<String, Value>),
) -> Result<SessionRecord, ApiError> {
    // Of two changes at once the second sees what the first did.
    let _one_by_one = hub.describing.lock().await;
    let record = services.log().session(&hub.key).await?.ok_or_else(not_found)?;
    let mut metadata = metadata_of(&record);
    change(&mut metadata);
    let metadata = Some(RawJson::of(&metadata).unwrap_or_default());
    let info = SessionInfo { metadata, ..SessionInfo::default() };
    append_info(services, hub, EventType::SessionUpdated, &info).await?;
    services.log().session(&hub.key).await?.ok_or_else(not_found)
}

/// Appends an event with title, agent, tags or metadata.
pub(super) async fn append_info(
    services: &Services,
    hub: &Hub,
    kind: EventType,
    info: &SessionInfo,
) -> Result<(), ApiError> {
    let event = draft_of(kind, &Scope::default(), info)?;
    let batch = Batch { events: vec![event], ..Batch::default() };
    services.sessions().append(Source::Ingest, hub, &batch).await?;
    Ok(())
}
