//! Bytes that events refer to, stored before the events.

use riverrun_event::{BlobRef, TaskId};
use riverrun_log::NewBlob;

use crate::actor::Actor;
use crate::actor::session::HostedSession;

/// What a model was asked.
pub(crate) const JSON: &str = "application/json";
/// What a service answered, as it came.
const RAW: &str = "application/octet-stream";
/// More than this is not kept: it is what a blob may have.
const MOST: usize = 20 << 20;

/// Blobs that the batch in progress refers to.
#[derive(Default)]
pub(crate) struct BlobQueue {
    pub pending: Vec<NewBlob>,
}

impl BlobQueue {
    /// Stores bytes with what is written next. None if they are too many.
    pub(crate) fn keep(
        &mut self,
        session: &HostedSession,
        bytes: Vec<u8>,
        media_type: &str,
    ) -> Option<BlobRef> {
        if bytes.len() > MOST {
            tracing::warn!(
                session = session.key.session.as_str(),
                size = bytes.len(),
                "too many bytes to keep"
            );
            return None;
        }
        let reference = riverrun_log::BlobId::of(&bytes);
        let session = Some(session.key.session.clone());
        self.pending.push(NewBlob { session, media_type: media_type.to_owned(), bytes: bytes.into() });
        Some(BlobRef::Bare(reference.to_string()))
    }

    pub(crate) fn keep_raw(&mut self, session: &HostedSession, raw: Vec<u8>) -> Option<BlobRef> {
        if raw.is_empty() { None } else { self.keep(session, raw, RAW) }
    }

    pub(crate) async fn put_blobs(&mut self, session: &HostedSession) {
        for blob in std::mem::take(&mut self.pending) {
            if let Err(error) = session.shared.journal.log().put_blob(&session.key.tenant, blob).await {
                tracing::warn!(%error, "what a model was asked or answered was not kept");
            }
        }
    }
}

impl Actor {
    /// Stores what the service answered to the open model call, if it is to be kept and there is any.
    pub(crate) fn keep_answer(&mut self, task: &TaskId) -> Option<BlobRef> {
        let raw = std::mem::take(&mut self.model.streams.get_mut(task)?.raw);
        self.blobs.keep_raw(&self.session, raw)
    }
}
