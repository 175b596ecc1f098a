//! Results of tool calls as items.

use riverrun_event::{
    Block, EventScope, EventType, Item, ItemCompleted, ItemId, ItemPatch, ItemStarted, Part, Patch, RawJson,
    TaskId, ToolResultItem, ToolResultPatch,
};

use crate::actor::Actor;
use crate::actor::session::HostedSession;
use crate::event_batch::EventBatch;
use crate::reference::disarm_all;
use crate::view::ResultView;

/// What a call came to.
pub(crate) struct Outcome {
    pub status: &'static str,
    /// For the model.
    pub content: Vec<Part>,
    /// For the user; None keeps what is shown.
    pub blocks: Option<Vec<Block>>,
    pub is_error: bool,
    /// What the numbers that a sub-agent cites are here.
    pub references: Option<RawJson>,
}

impl Outcome {
    /// The same for the model and the user.
    pub fn error(status: &'static str, content: Vec<Part>) -> Self {
        Self { status, blocks: None, content, is_error: true, references: None }
    }
}

impl HostedSession {
    /// Opens the result of a call, empty.
    pub(crate) fn open_result(
        &mut self,
        task: &TaskId,
        call: &str,
        batch: &mut EventBatch,
    ) -> Option<(String, u32, EventScope)> {
        let id = ItemId::from_bytes(self.shared.fresh()).to_string();
        let view = self.view.task_mut(task)?;
        let known = view.call(call)?;
        let scope = view.call_scope(known);
        if let ResultView::Open { item, index } = &known.result {
            return Some((item.clone(), *index, scope));
        }
        let output_index = view.take_index();
        let item = Item::ToolResult(ToolResultItem {
            id: id.clone(),
            call_id: call.to_owned(),
            ..ToolResultItem::default()
        });
        batch.push(EventType::ItemStarted, &scope, &ItemStarted { item, output_index });
        if let Some(known) = view.call_mut(call) {
            known.result = ResultView::Open { item: id.clone(), index: output_index };
        }
        Some((id, output_index, scope))
    }
}

impl Actor {
    /// Gives a call its one result.
    pub(crate) fn write_result(
        &mut self,
        task: &TaskId,
        call: &str,
        outcome: &Outcome,
        batch: &mut EventBatch,
    ) {
        let Some((id, output_index, scope)) = self.session.open_result(task, call, batch) else { return };
        self.tools.drafts.remove(call);
        let mut content = outcome.content.clone();
        if let Some(notice) = self.session.edit_notice(task, call) {
            content.insert(0, notice);
        }
        content.extend(self.hooks.hook_context(&self.session, task, call));
        disarm_all(&mut content);
        let patch = ToolResultPatch {
            id,
            content: Patch::Set(content),
            block_list: outcome.blocks.clone().map_or(Patch::Keep, Patch::Set),
            status: Patch::Set(outcome.status.to_owned()),
            is_error: if outcome.is_error { Patch::Set(true) } else { Patch::Keep },
            references: outcome.references.clone().map_or(Patch::Keep, Patch::Set),
            ..ToolResultPatch::default()
        };
        batch.push(
            EventType::ItemCompleted,
            &scope,
            &ItemCompleted { item: ItemPatch::ToolResult(patch), output_index },
        );
        if let Some(known) = self.session.view.task_mut(task).and_then(|view| view.call_mut(call)) {
            known.result = ResultView::Done;
        }
    }
}
