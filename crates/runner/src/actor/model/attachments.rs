//! Pictures, files and sounds of the blob store, put into the conversation as their content: no service can read the store.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use riverrun_event::{Block, ImageUrl, Part};
use riverrun_log::{BlobContent, BlobId};
use riverrun_provider::HistoryEntry;

use crate::actor::session::HostedSession;

/// Bytes that one request brings along, before they are encoded; services take about as much, and memory is finite.
const MOST: usize = 32 << 20;

impl HostedSession {
    /// Gives the parts that name a blob its content, the newest first as long as there is room. The model is told of one
    /// that is left out or gone: it was not said in vain.
    pub(crate) async fn attach(&self, history: &mut [HistoryEntry]) {
        let parts = history.iter_mut().rev().flat_map(|entry| match entry {
            HistoryEntry::User { parts }
            | HistoryEntry::Assistant { parts, .. }
            | HistoryEntry::ToolResult { parts, .. } => parts.iter_mut().rev(),
            HistoryEntry::System { .. }
            | HistoryEntry::Reasoning { .. }
            | HistoryEntry::ToolCall { .. }
            | HistoryEntry::Hosted { .. }
            | HistoryEntry::Given { .. } => [].iter_mut().rev(),
        });
        let mut room = MOST;
        for part in parts {
            let Some(name) = blob_named(part).map(ToOwned::to_owned) else { continue };
            match self.blob_within(&name, room).await {
                Some(Ok(blob)) => {
                    room -= blob.bytes.len();
                    fill(part, &blob);
                }
                Some(Err(size)) => {
                    *part = Part::plain(format!(
                        "[{name} with {size} bytes was given here and is left out: a request takes {} MiB]",
                        MOST >> 20
                    ));
                }
                None => *part = Part::plain(format!("[{name} was given here and is no longer stored]")),
            }
        }
    }

    /// Err has the size of one that is too large.
    async fn blob_within(&self, name: &str, room: usize) -> Option<Result<BlobContent, u64>> {
        let (reference, log) = (BlobId::parse(name)?, self.shared.journal.log());
        let info = log.blob_info(&self.key.tenant, &reference).await.ok().flatten()?;
        if info.size > room as u64 {
            return Some(Err(info.size));
        }
        log.blob(&self.key.tenant, &reference).await.ok().flatten().map(Ok)
    }
}

/// The blob that a part names and does not bring along. A foreign client names one where its service's files are named.
pub fn blob_named(part: &Part) -> Option<&str> {
    let is_blob = |name: &&str| BlobId::parse(name).is_some();
    let (inline_content, named, url) = match part {
        Block::Image(image) => {
            (None, &image.file_ref, image.image_url.as_ref().map(|found| found.url.as_str()))
        }
        Block::File(file) => (file.data.as_deref(), &file.file_ref, file.url.as_deref()),
        Block::Audio(audio) => (audio.data.as_deref(), &audio.file_ref, audio.url.as_deref()),
        _ => return None,
    };
    match (inline_content, url) {
        (Some(_), _) => None,
        (None, Some(url)) => Some(url).filter(is_blob),
        (None, None) => named.as_ref().map(|reference| reference.as_str()),
    }
}

fn fill(part: &mut Part, blob: &BlobContent) {
    let content = STANDARD.encode(&blob.bytes);
    match part {
        Block::Image(image) => {
            let media_type = image.media_type.as_deref().unwrap_or(&blob.info.media_type);
            let url = format!("data:{media_type};base64,{content}");
            let detail = image.image_url.take().and_then(|named| named.detail);
            image.image_url = Some(ImageUrl { url, detail });
        }
        Block::File(file) => {
            file.media_type.get_or_insert_with(|| blob.info.media_type.clone());
            (file.data, file.url) = (Some(content), None);
        }
        Block::Audio(audio) => {
            audio.media_type.get_or_insert_with(|| blob.info.media_type.clone());
            (audio.data, audio.url) = (Some(content), None);
        }
        _ => {}
    }
}
