//! Large strings of events go to the blob store before the events are appended.

use bytes::Bytes;
use riverrun_event::{Decoded, spill};
use riverrun_log::{BlobId, Fact, NewBlob};

use crate::AppendError;
use crate::hubs::Hub;
use crate::sessions::Sessions;

/// Takes the large strings out of the events and stores them. The facts keep the blobs alive.
pub async fn spill_large(
    sessions: &Sessions,
    hub: &Hub,
    events: &mut [Decoded],
) -> Result<Vec<Fact>, AppendError> {
    let mut facts = Vec::new();
    for blob in spill_all(hub, events, sessions.settings().event_bytes)? {
        let info = sessions.log().put_blob(&hub.key.tenant, blob).await?;
        facts.push(Fact::Blob(BlobId::from_digest(*info.reference.digest())));
    }
    Ok(facts)
}

fn spill_all(hub: &Hub, events: &mut [Decoded], limit: usize) -> Result<Vec<NewBlob>, AppendError> {
    let mut blobs = Vec::new();
    for event in events {
        let spilled =
            spill(&mut event.draft, limit).map_err(|size| AppendError::EventTooLarge { size, limit })?;
        blobs.extend(spilled.into_iter().map(|part| NewBlob {
            session: Some(hub.session().clone()),
            media_type: "text/plain; charset=utf-8".to_owned(),
            bytes: Bytes::from(part.content),
        }));
    }
    Ok(blobs)
}
