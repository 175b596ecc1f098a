//! Blocks of a result that the user sees before the tool has ended.

use riverrun_event::{Block, BlockChange, EventType, ImageBlock, ImageUrl, ItemUpdated, TaskId};

use crate::actor::Actor;
use crate::actor::session::HostedSession;
use crate::event_batch::EventBatch;
use crate::view::ResultView;

/// Blocks that a running call may show; more are progress alone.
const MAX_DRAFT_BLOCKS: u32 = 64;
/// A block that is longer than this as JSON is not repeated in `tool.progress`.
const MAX_PROGRESS_BLOCK: usize = 16 << 10;

impl Actor {
    /// Shows a block of the output so far in the call's result. A picture begins empty and each draft of it is whole;
    /// every other block is replaced. Gives back what `tool.progress` repeats.
    ///
    /// ```text
    ///   item.updated added (empty) │ replaced, partial 0 │ replaced, partial 1 │ … item.completed: the final block
    /// ```
    pub(crate) fn draft(
        &mut self,
        task: &TaskId,
        call: &str,
        block_index: u32,
        mut block: Block,
        batch: &mut EventBatch,
    ) -> Option<Block> {
        let repeated = Some(block.clone()).filter(is_short);
        let known = self.session.view.task(task).and_then(|(_, view)| view.call(call));
        let is_done = known.is_none_or(|known| known.result == ResultView::Done);
        let is_next = self.tools.drafts.get(call).map_or(0, |known| known.len() as u32) >= block_index;
        if is_done || !is_next || block_index >= MAX_DRAFT_BLOCKS || !self.session.may_show_drafts(task) {
            return repeated;
        }
        let Some((item_id, output_index, scope)) = self.session.open_result(task, call, batch) else {
            return repeated;
        };
        self.blobs.detach_block(&self.session, &mut block);
        let known = self.tools.drafts.entry(call.to_owned()).or_default();
        let is_first = !known.contains_key(&block_index);
        let draft = known.entry(block_index).or_default();
        let updated = |block, change, partial_index| ItemUpdated {
            item_id: item_id.clone(),
            output_index,
            block_index,
            block,
            change,
            partial_index,
        };
        match &block {
            Block::Image(image) => {
                if is_first {
                    let empty = updated(empty_picture(image), BlockChange::Added, None);
                    batch.push(EventType::ItemUpdated, &scope, &empty);
                }
                let partial = Some(*draft);
                *draft += 1;
                batch.push(EventType::ItemUpdated, &scope, &updated(block, BlockChange::Replaced, partial));
            }
            Block::Text(_)
            | Block::Html(_)
            | Block::File(_)
            | Block::Audio(_)
            | Block::Table(_)
            | Block::Json(_)
            | Block::Item(_)
            | Block::Other(_) => {
                let change = if is_first { BlockChange::Added } else { BlockChange::Replaced };
                batch.push(EventType::ItemUpdated, &scope, &updated(block, change, None));
            }
        }
        repeated
    }
}

impl HostedSession {
    /// Guardrails and hooks may refuse a result or change it: the user sees it only after them.
    fn may_show_drafts(&self, task: &TaskId) -> bool {
        self.persona(task)
            .is_some_and(|persona| persona.spec.guardrails.is_empty() && persona.spec.hooks.is_empty())
    }
}

fn empty_picture(image: &ImageBlock) -> Block {
    let image_url = Some(ImageUrl { url: String::new(), detail: None });
    Block::Image(ImageBlock { image_url, media_type: image.media_type.clone(), ..ImageBlock::default() })
}

fn is_short(block: &Block) -> bool {
    serde_json::to_string(block).is_ok_and(|json| json.len() <= MAX_PROGRESS_BLOCK)
}
