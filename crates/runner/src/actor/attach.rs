//! Pictures, files and sounds of the blob store, put into the conversation as their content: no service can read the store.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use riverrun_event::{Block, ImageUrl, Part};
use riverrun_log::{Blob, BlobRef};
use riverrun_provider::History;

use super::Actor;

impl Actor {
    /// Gives the parts that name a blob its content. The model is told of one that is gone: it was not said in vain.
    pub(super) async fn attach(&self, history: &mut [History]) {
        let parts = history.iter_mut().flat_map(|entry| match entry {
            History::User { parts }
            | History::Assistant { parts, .. }
            | History::ToolResult { parts, .. } => parts.as_mut_slice(),
            History::System { .. }
            | History::Reasoning { .. }
            | History::ToolCall { .. }
            | History::Hosted { .. }
            | History::Given { .. } => &mut [],
        });
        for part in parts {
            let Some(name) = blob_named(part).map(ToOwned::to_owned) else { continue };
            match self.blob_of(&name).await {
                Some(blob) => fill(part, &blob),
                None => *part = Part::plain(format!("[{name} was given here and is no longer stored]")),
            }
        }
    }

    async fn blob_of(&self, name: &str) -> Option<Blob> {
        let reference = BlobRef::parse(name)?;
        self.core.journal.log().blob(&self.key.tenant, &reference).await.ok().flatten()
    }
}

/// The blob that a part names and does not bring along. A foreign client names one where its service's files are named.
pub fn blob_named(part: &Part) -> Option<&str> {
    let is_blob = |name: &&str| BlobRef::parse(name).is_some();
    let (brought, named, url) = match part {
        Block::Image(image) => {
            (None, &image.file_ref, image.image_url.as_ref().map(|found| found.url.as_str()))
        }
        Block::File(file) => (file.data.as_deref(), &file.file_ref, file.url.as_deref()),
        Block::Audio(audio) => (audio.data.as_deref(), &audio.file_ref, audio.url.as_deref()),
        _ => return None,
    };
    match (brought, url) {
        (Some(_), _) => None,
        (None, Some(url)) => Some(url).filter(is_blob),
        (None, None) => named.as_ref().map(|reference| reference.as_str()),
    }
}

fn fill(part: &mut Part, blob: &Blob) {
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
