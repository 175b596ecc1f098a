//! Bytes that events refer to, stored before the events.

use riverrun_event::{BlobRef, TaskId};
use riverrun_log::NewBlob;

use crate::actor::Actor;

/// What a model was asked.
pub(crate) const JSON: &str = "application/json";
/// What a service answered, as it came.
const RAW: &str = "application/octet-stream";
/// More than this is not kept: it is what a blob may have.
const MOST: usize = 20 << 20;

impl Actor {
    /// Stores bytes with what is written next. None if they are too many.
    pub(crate) fn keep(&mut self, bytes: Vec<u8>, media_type: &str) -> Option<BlobRef> {
        if bytes.len() > MOST {
            tracing::warn!(session = self.key.session.as_str(), size = bytes.len(), "too many bytes to keep");
            return None;
        }
        let reference = riverrun_log::BlobRef::of(&bytes);
        let session = Some(self.key.session.clone());
        self.blobs.push(NewBlob { session, media_type: media_type.to_owned(), bytes: bytes.into() });
        Some(BlobRef::Bare(reference.to_string()))
    }

    /// Stores what the service answered to the open model call, if it is to be kept and there is any.
    pub(crate) fn keep_answer(&mut self, task: &TaskId) -> Option<BlobRef> {
        let raw = std::mem::take(&mut self.streams.get_mut(task)?.raw);
        self.keep_raw(raw)
    }

    pub(crate) fn keep_raw(&mut self, raw: Vec<u8>) -> Option<BlobRef> {
        if raw.is_empty() { None } else { self.keep(raw, RAW) }
    }

    pub(crate) async fn put_blobs(&mut self) {
        for blob in std::mem::take(&mut self.blobs) {
            if let Err(error) = self.shared.journal.log().put_blob(&self.key.tenant, blob).await {
                tracing::warn!(%error, "what a model was asked or answered was not kept");
            }
        }
    }
}
