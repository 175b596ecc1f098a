//! What became of a tool's output besides its text: files that it made, what was cut, and secrets that were taken out.

use riverrun_event::{ArtifactChanged, BlobRef, Block, EventScope, EventType, OutputChanged, Part};
use riverrun_secret::HIDDEN;
use riverrun_tool::ToolOutput;

use crate::actor::append::blobs::BlobQueue;
use crate::actor::append::media::inline_content;
use crate::actor::session::HostedSession;
use crate::event_batch::EventBatch;

/// What a tool that keeps the beginning of its output writes behind it.
const CUT: &str = "\n[cut: the first ";

/// One thing that became of an output.
pub(crate) enum OutputFact {
    Truncated(OutputChanged),
    Redacted(OutputChanged),
    /// The artifact's id, and what it is.
    Artifact(String, ArtifactChanged),
}

impl OutputFact {
    pub fn write(&self, scope: &EventScope, batch: &mut EventBatch) {
        match self {
            OutputFact::Truncated(cut) => batch.push(EventType::OutputTruncated, scope, cut),
            OutputFact::Redacted(redacted) => batch.push(EventType::OutputRedacted, scope, redacted),
            OutputFact::Artifact(id, changed) => {
                batch.push_about(EventType::ArtifactChanged, scope, ("artifactId", id), changed);
            }
        }
    }
}

impl BlobQueue {
    /// What became of the output of `tool`, which owns it. Files that it made are stored with what is written next.
    pub(crate) fn output_facts(
        &mut self,
        session: &HostedSession,
        tool: &str,
        output: &mut ToolOutput,
    ) -> Vec<OutputFact> {
        self.detach(session, output);
        let (mut facts, owner) = (Vec::new(), Some(tool.to_owned()));
        if let Some((shown, total)) = output.content.iter().filter_map(Part::text).find_map(cut_sizes) {
            facts.push(OutputFact::Truncated(OutputChanged {
                owner: owner.clone(),
                size: Some(total),
                truncated_bytes: Some(total.saturating_sub(shown)),
                reason: Some("output_limit".to_owned()),
                ..OutputChanged::default()
            }));
        }
        let mut texts = output.content.iter().chain(&output.block_list).filter_map(Part::text);
        if texts.any(|text| text.contains(HIDDEN)) {
            let reason = Some("secret".to_owned());
            facts.push(OutputFact::Redacted(OutputChanged { owner, reason, ..OutputChanged::default() }));
        }
        for block in output.content.iter().chain(&output.block_list) {
            let Some((id, changed)) = self.artifact(session, block) else { continue };
            let is_it = |fact: &OutputFact| matches!(fact, OutputFact::Artifact(known, _) if *known == id);
            if !facts.iter().any(is_it) {
                facts.push(OutputFact::Artifact(id, changed));
            }
        }
        facts
    }

    /// A file that a tool made, in the blob store and named by its contents.
    fn artifact(&mut self, session: &HostedSession, block: &Block) -> Option<(String, ArtifactChanged)> {
        let (title, media_type) = match block {
            Block::Image(image) => (None, image.media_type.clone()),
            Block::File(file) => (file.name.clone(), file.media_type.clone()),
            Block::Audio(audio) => (None, audio.media_type.clone()),
            _ => return None,
        };
        let read_ref = match file_ref(block) {
            Some(reference) => reference,
            None => self.store_inline(session, &inline_content(block)?)?.0,
        };
        let version = read_ref.as_str().strip_prefix("blob_").unwrap_or(read_ref.as_str()).to_owned();
        let id = format!("artifact_{}", &version[..version.floor_char_boundary(24)]);
        let changed = ArtifactChanged {
            change: Some("created".to_owned()),
            title,
            media_type,
            read_ref: Some(read_ref),
            version_id: Some(version),
            ..ArtifactChanged::default()
        };
        Some((id, changed))
    }
}

fn file_ref(block: &Block) -> Option<BlobRef> {
    match block {
        Block::Image(image) => image.file_ref.clone(),
        Block::File(file) => file.file_ref.clone(),
        Block::Audio(audio) => audio.file_ref.clone(),
        _ => None,
    }
}

/// How many bytes a cut output kept, of how many.
fn cut_sizes(text: &str) -> Option<(u64, u64)> {
    let (_, sizes) = text.rsplit_once(CUT)?;
    let (shown, total) = sizes.strip_suffix(" bytes]")?.split_once(" of ")?;
    Some((shown.parse().ok()?, total.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_is_read_from_the_words_of_the_tools() {
        assert_eq!(cut_sizes("123\n[cut: the first 3 of 16 bytes]"), Some((3, 16)));
        assert_eq!(cut_sizes("[cut: the first 3 of 16 bytes] is what I saw"), None);
    }
}
