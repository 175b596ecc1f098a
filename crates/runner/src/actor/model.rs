//! What the model says, as events.

use riverrun_event::{
    Block, Cost, EventType, Item, ItemCompleted, ItemId, ItemPatch, ItemStarted, ItemUpdated, MessageItem,
    MessagePatch, ModelCompleted, ModelDelta, Patch, RawJson, ReasoningDelta, ReasoningItem, ReasoningPatch,
    TaskId, TextBlock, ToolArgs, ToolCallId, ToolCallItem, ToolCallPatch, Usage,
};
use riverrun_provider::{ItemKind, ModelEvent, StopReason};

use super::Actor;
use crate::page::Page;

/// An open model call and the items that it began.
#[derive(Default)]
pub(super) struct Stream {
    pub items: Vec<StreamItem>,
    /// A text that has come to its end: whether the model chose that is known with what comes next.
    done: Option<(u32, Option<RawJson>)>,
    /// What reading the request will cost, until it is told.
    pub estimate: Option<Cost>,
    pub model: Option<String>,
    pub response: Option<String>,
    /// The bytes of the service, where they are to be kept.
    pub raw: Vec<u8>,
}

pub(super) struct StreamItem {
    index: u32,
    pub item: String,
    pub output_index: u32,
    kind: ItemKind,
    text: String,
    annotations: Vec<riverrun_event::Annotation>,
    pub is_done: bool,
}

impl Actor {
    /// Everything but the end of the call.
    pub(super) fn model_event(&mut self, task: &TaskId, event: ModelEvent, page: &mut Page) {
        self.write_estimate(task, page);
        if is_of_item(&event) {
            self.write_done(task, "completed", page);
        }
        match event {
            ModelEvent::Started { response_id, model } => {
                if let Some(stream) = self.streams.get_mut(task) {
                    (stream.response, stream.model) = (response_id, model);
                }
            }
            ModelEvent::ItemStarted { index, kind } => self.item_started(task, index, kind, page),
            ModelEvent::Text { index, delta } => self.text(task, index, delta, page),
            ModelEvent::Reasoning { index, summary_index, delta } => {
                let Some((scope, item)) = self.stream_item(task, index) else { return };
                let (item_id, output_index) = (Some(item.item.clone()), Some(item.output_index));
                let delta = ReasoningDelta { delta, item_id, output_index, summary_index };
                page.push(EventType::ReasoningDelta, &scope, &delta);
            }
            ModelEvent::Arguments { index, delta } => {
                let Some((scope, item)) = self.stream_item(task, index) else { return };
                let ItemKind::ToolCall { call_id, .. } = &item.kind else { return };
                let call_id = Some(call_id.clone());
                let (item_id, output_index) = (Some(item.item.clone()), Some(item.output_index));
                page.push(EventType::ToolArgs, &scope, &ToolArgs { delta, item_id, output_index, call_id });
            }
            ModelEvent::Annotated { index, annotation } => {
                if let Some((_, item)) = self.stream_item(task, index) {
                    item.annotations.push(annotation);
                }
            }
            ModelEvent::ItemDone { index, opaque } => self.item_done(task, index, opaque, page),
            ModelEvent::RateLimited(limit) => self.rate_limited(task, &limit, page),
            ModelEvent::State(state) => self.shared_state(&state, page),
            ModelEvent::Vendor { name, data } => self.vendor(task, &name, &data, page),
            ModelEvent::Raw(bytes) => {
                if let Some(stream) = self.streams.get_mut(task) {
                    stream.raw.extend_from_slice(&bytes);
                }
            }
            ModelEvent::Completed { .. } | ModelEvent::Failed(_) => {}
        }
    }

    fn item_started(&mut self, task: &TaskId, index: u32, kind: ItemKind, page: &mut Page) {
        let id = ItemId::from_bytes(self.core.fresh()).to_string();
        let kind = self.own_call_id(task, kind);
        let Some(view) = self.view.task_mut(task) else { return };
        let (output_index, scope) = (view.take_index(), view.step_scope());
        let agent = view.agent.clone();
        let item = match &kind {
            ItemKind::Message => Item::Message(MessageItem {
                id: id.clone(),
                role: Some("assistant".to_owned()),
                agent: Some(agent),
                ..MessageItem::default()
            }),
            ItemKind::Reasoning => {
                Item::Reasoning(ReasoningItem { id: id.clone(), ..ReasoningItem::default() })
            }
            ItemKind::ToolCall { call_id, name } => Item::ToolCall(ToolCallItem {
                id: id.clone(),
                call_id: call_id.clone(),
                name: name.clone(),
                ..ToolCallItem::default()
            }),
        };
        page.push(EventType::ItemStarted, &scope, &ItemStarted { item, output_index });
        let item = StreamItem {
            index,
            item: id,
            output_index,
            kind,
            text: String::new(),
            annotations: Vec::new(),
            is_done: false,
        };
        self.streams.entry(task.clone()).or_default().items.push(item);
    }

    /// A call id names a call for ever, and a child task is named by it: one that is in use, or is no id, is replaced.
    fn own_call_id(&self, task: &TaskId, kind: ItemKind) -> ItemKind {
        let ItemKind::ToolCall { call_id, name } = kind else { return kind };
        let is_used =
            self.state.tasks.iter().any(|known| {
                known.task_id.as_str() == call_id
                    || (known.task_id == *task
                        && known
                            .output
                            .iter()
                            .any(|item| matches!(item, Item::ToolCall(call) if call.call_id == call_id)))
            }) || self.streams.values().flat_map(|stream| &stream.items).any(
                |item| matches!(&item.kind, ItemKind::ToolCall { call_id: known, .. } if *known == call_id),
            );
        let is_id = ToolCallId::new(&call_id).is_ok();
        let call_id =
            if is_used || !is_id { ToolCallId::from_bytes(self.core.fresh()).to_string() } else { call_id };
        ItemKind::ToolCall { call_id, name }
    }

    fn stream_item(&mut self, task: &TaskId, index: u32) -> Option<(riverrun_event::Scope, &mut StreamItem)> {
        let scope = self.view.task(task)?.1.step_scope();
        let items = &mut self.streams.get_mut(task)?.items;
        items.iter_mut().rev().find(|item| item.index == index && !item.is_done).map(|item| (scope, item))
    }

    fn text(&mut self, task: &TaskId, index: u32, delta: String, page: &mut Page) {
        let Some((scope, item)) = self.stream_item(task, index) else { return };
        item.text.push_str(&delta);
        let (item_id, output_index) = (Some(item.item.clone()), Some(item.output_index));
        let delta = ModelDelta { delta, item_id, output_index, block_index: None };
        page.push(EventType::ModelDelta, &scope, &delta);
    }

    fn item_done(&mut self, task: &TaskId, index: u32, opaque: Option<RawJson>, page: &mut Page) {
        let Some((scope, item)) = self.stream_item(task, index) else { return };
        item.is_done = true;
        if !item.annotations.is_empty() {
            let text = std::mem::take(&mut item.text);
            let annotations = Some(std::mem::take(&mut item.annotations));
            let block = Block::Text(TextBlock { text, annotations, ..TextBlock::default() });
            let (item_id, output_index) = (item.item.clone(), item.output_index);
            let change = riverrun_event::BlockChange::Done;
            let updated =
                ItemUpdated { item_id, output_index, block_index: 0, block, change, partial_index: None };
            page.push(EventType::ItemUpdated, &scope, &updated);
        }
        match &item.kind {
            ItemKind::ToolCall { .. } => {
                let completed = completed(item, "completed", opaque);
                page.push(EventType::ItemCompleted, &scope, &completed);
            }
            ItemKind::Message | ItemKind::Reasoning => {
                if let Some(stream) = self.streams.get_mut(task) {
                    stream.done = Some((index, opaque));
                }
            }
        }
    }

    /// The end of a text that has come to its end.
    fn write_done(&mut self, task: &TaskId, status: &str, page: &mut Page) {
        let Some(scope) = self.view.task(task).map(|(_, view)| view.step_scope()) else { return };
        let Some(stream) = self.streams.get_mut(task) else { return };
        let Some((index, opaque)) = stream.done.take() else { return };
        let Some(item) = stream.items.iter().rev().find(|item| item.index == index) else { return };
        page.push(EventType::ItemCompleted, &scope, &completed(item, status, opaque));
    }

    /// Closes what the call left open: unfinished arguments are never run, cut text is marked.
    pub(super) fn close_items(&mut self, task: &TaskId, page: &mut Page) {
        self.write_done(task, "completed", page);
        let Some(stream) = self.streams.remove(task) else { return };
        let Some((_, view)) = self.view.task(task) else { return };
        let scope = view.step_scope();
        for item in stream.items.iter().filter(|item| !item.is_done) {
            page.push(EventType::ItemCompleted, &scope, &completed(item, "incomplete", None));
        }
    }

    pub(super) fn model_completed(
        &mut self,
        task: &TaskId,
        stop: &StopReason,
        usage: Usage,
        page: &mut Page,
    ) {
        let raw_ref = self.keep_answer(task);
        let Some(stream) = self.streams.get(task) else { return };
        let (response_id, model) = (stream.response.clone(), stream.model.clone());
        let is_cut = matches!(stop, StopReason::MaxTokens | StopReason::ContentFilter);
        self.write_done(task, if is_cut { "incomplete" } else { "completed" }, page);
        self.close_items(task, page);
        let Some((_, view)) = self.view.task(task) else { return };
        let completed = ModelCompleted {
            usage: Some(usage.clone()),
            stop_reason: Some(stop_word(stop).to_owned()),
            stop_sequence: match stop {
                StopReason::StopSequence(which) => which.clone(),
                _ => None,
            },
            model,
            provider: view.provider.as_deref().map(ToOwned::to_owned),
            response_id,
            raw_ref,
        };
        let scope = view.step_scope();
        page.push(EventType::ModelCompleted, &scope, &completed);
        self.record_cost(task, &usage, &scope, page);
    }
}

/// True for what tells of an item. The last text before the end of a call may be one that was cut.
fn is_of_item(event: &ModelEvent) -> bool {
    match event {
        ModelEvent::ItemStarted { .. }
        | ModelEvent::Text { .. }
        | ModelEvent::Reasoning { .. }
        | ModelEvent::Arguments { .. }
        | ModelEvent::Annotated { .. }
        | ModelEvent::ItemDone { .. } => true,
        ModelEvent::Started { .. }
        | ModelEvent::RateLimited(_)
        | ModelEvent::State(_)
        | ModelEvent::Vendor { .. }
        | ModelEvent::Raw(_)
        | ModelEvent::Completed { .. }
        | ModelEvent::Failed(_) => false,
    }
}

fn completed(item: &StreamItem, status: &str, opaque: Option<RawJson>) -> ItemCompleted {
    let (id, status) = (item.item.clone(), Patch::Set(status.to_owned()));
    let opaque = opaque.map_or(Patch::Keep, Patch::Set);
    let patch = match &item.kind {
        ItemKind::Message => {
            ItemPatch::Message(MessagePatch { id, status, opaque, ..MessagePatch::default() })
        }
        ItemKind::Reasoning => {
            ItemPatch::Reasoning(ReasoningPatch { id, status, opaque, ..ReasoningPatch::default() })
        }
        ItemKind::ToolCall { .. } => {
            ItemPatch::ToolCall(ToolCallPatch { id, status, opaque, ..ToolCallPatch::default() })
        }
    };
    ItemCompleted { item: patch, output_index: item.output_index }
}

pub(super) fn stop_word(stop: &StopReason) -> &str {
    match stop {
        StopReason::End => "end",
        StopReason::ToolUse => "tool_use",
        StopReason::MaxTokens => "max_tokens",
        StopReason::StopSequence(_) => "stop_sequence",
        StopReason::Refusal => "refusal",
        StopReason::ContentFilter => "content_filter",
        StopReason::Other(word) => word,
    }
}
