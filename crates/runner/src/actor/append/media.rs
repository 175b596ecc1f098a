//! Pictures, files and sounds that a tool or a model gave whole, taken out to the blob store: an event has no room for them,
//! and half of a data URL is worth nothing.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use riverrun_event::{BlobRef, Block};
use riverrun_tool::ToolOutput;

use crate::actor::append::blobs::BlobQueue;
use crate::actor::session::HostedSession;

/// How much of it one result may hold itself. An event may have 256 KiB, and there are words beside it.
const INLINE: usize = 160 << 10;
/// What is smaller stays where it is.
const SMALL: usize = 8 << 10;

impl BlobQueue {
    /// Stores with what is written next whatever makes the result too large, each with its media type.
    pub(crate) fn detach(&mut self, session: &HostedSession, output: &mut ToolOutput) {
        let blocks = || output.content.iter().chain(&output.block_list);
        if blocks().filter_map(inline_content).map(|found| found.base64.len()).sum::<usize>() <= INLINE {
            return;
        }
        // The model's part and the user's block are often the same bytes.
        let mut known: Vec<(String, BlobRef, u64)> = Vec::new();
        for block in output.content.iter_mut().chain(&mut output.block_list) {
            let Some(found) = inline_content(block).filter(|found| found.base64.len() > SMALL) else {
                continue;
            };
            let (reference, size) = match known.iter().find(|(of, ..)| of == found.base64) {
                Some((_, reference, size)) => (reference.clone(), *size),
                None => {
                    let Some((reference, size)) = self.store_inline(session, &found) else { continue };
                    known.push((found.base64.to_owned(), reference.clone(), size));
                    (reference, size)
                }
            };
            refer(block, reference, size);
        }
    }

    /// The same for one block that is an event of its own.
    pub(crate) fn detach_block(&mut self, session: &HostedSession, block: &mut Block) {
        let found = inline_content(block).filter(|found| found.base64.len() > INLINE);
        if let Some((reference, size)) = found.and_then(|found| self.store_inline(session, &found)) {
            refer(block, reference, size);
        }
    }

    pub(crate) fn store_inline(
        &mut self,
        session: &HostedSession,
        found: &InlineContent<'_>,
    ) -> Option<(BlobRef, u64)> {
        let bytes = STANDARD.decode(found.base64).ok()?;
        let size = bytes.len() as u64;
        Some((self.keep(session, bytes, found.media_type)?, size))
    }
}

pub(crate) struct InlineContent<'a> {
    base64: &'a str,
    media_type: &'a str,
}

/// The bytes that a block has in itself.
pub(crate) fn inline_content(block: &Block) -> Option<InlineContent<'_>> {
    const ANY: &str = "application/octet-stream";
    match block {
        Block::Image(image) => {
            let url = image.image_url.as_ref()?.url.strip_prefix("data:")?;
            let (head, base64) = url.split_once(',')?;
            let media_type = head.strip_suffix(";base64")?;
            Some(InlineContent { base64, media_type: if media_type.is_empty() { ANY } else { media_type } })
        }
        Block::File(file) => {
            let base64 = file.data.as_deref()?;
            Some(InlineContent { base64, media_type: file.media_type.as_deref().unwrap_or(ANY) })
        }
        Block::Audio(audio) => {
            let base64 = audio.data.as_deref()?;
            Some(InlineContent { base64, media_type: audio.media_type.as_deref().unwrap_or(ANY) })
        }
        _ => None,
    }
}

fn refer(block: &mut Block, reference: BlobRef, size: u64) {
    match block {
        Block::Image(image) => (image.image_url, image.file_ref) = (None, Some(reference)),
        Block::File(file) => (file.data, file.file_ref, file.size) = (None, Some(reference), Some(size)),
        Block::Audio(audio) => (audio.data, audio.file_ref) = (None, Some(reference)),
        _ => {}
    }
}
