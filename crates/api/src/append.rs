//! Events that an operation appends, with its answer stored beside them.

use riverrun_event::{Author, Decoded, ErrorCode, decode};
use riverrun_log::IdempotencyRecord;
use riverrun_session::{Batch, Hub, Source, spill_large};
use serde_json::Value;

use crate::{ApiError, Services};

/// Appends all events or none. With `answer` the same command again is answered from the store and appends nothing.
pub async fn append_events(
    services: &Services,
    hub: &Hub,
    events: &[Value],
    answer: Option<IdempotencyRecord>,
) -> Result<(), ApiError> {
    let mut events = events.iter().map(decoded).collect::<Result<Vec<_>, _>>()?;
    let facts = spill_large(services.sessions(), hub, &mut events).await?;
    let batch = Batch { events, idempotency: answer.into_iter().collect(), facts, ..Batch::default() };
    services.sessions().append(Source::Ingest, hub, &batch).await?;
    Ok(())
}

fn decoded(event: &Value) -> Result<Decoded, ApiError> {
    let decoded = decode(&event.to_string()).map_err(|error| {
        let field = error.field().unwrap_or_default();
        let field = field.strip_prefix("payload.").unwrap_or(&field).to_owned();
        ApiError::new(ErrorCode::InvalidField, error.to_string()).field(field)
    });
    decoded.map(|event| event.by(Author::Writer))
}
