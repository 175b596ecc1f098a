//! The items of a model's answer, as events while they arrive.

use riverrun_event::{
    Annotation, Block, BlockChange, DeltaMaker, EventType, Growth, HostedItem, HostedPatch, HostedWord, Item,
    ItemCompleted, ItemId, ItemPatch, ItemStarted, MessageItem, MessagePatch, ModelDelta, Patch, RawJson,
    ReasoningDelta, ReasoningItem, ReasoningPatch, ReasoningSummary, TaskId, TextBlock, ToolCallId,
    ToolCallItem, ToolCallPatch,
};
use riverrun_provider::ItemKind;

use crate::actor::Actor;
use crate::actor::model::ModelCalls;
use crate::actor::model::stream::{MAX_REPEATED_TEXT, Stream, StreamItem, SummaryPart};
use crate::actor::session::HostedSession;
use crate::event_batch::EventBatch;

impl ModelCalls {
    pub(crate) fn item_started(
        &mut self,
        session: &mut HostedSession,
        task: &TaskId,
        index: u32,
        kind: ItemKind,
        batch: &mut EventBatch,
    ) {
        let id = ItemId::from_bytes(session.shared.fresh()).to_string();
        let kind = self.own_call_id(session, task, kind);
        let dialect = session.spoken(task);
        let Some(view) = session.view.task_mut(task) else { return };
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
            ItemKind::Hosted { kind, .. } => Item::Hosted(HostedItem {
                id: id.clone(),
                dialect: dialect.unwrap_or_default().to_owned(),
                kind: kind.clone(),
                ..HostedItem::default()
            }),
        };
        batch.push(EventType::ItemStarted, &scope, &ItemStarted { item, output_index });
        let begun = match &kind {
            ItemKind::Hosted { begun, .. } => Some(begun.clone()),
            ItemKind::Message | ItemKind::Reasoning | ItemKind::ToolCall { .. } => None,
        };
        let item = StreamItem {
            index,
            item: id,
            output_index,
            kind,
            blocks: 0,
            text_block: None,
            maker: None,
            refusal_block: None,
            text: String::new(),
            logprobs: Vec::new(),
            annotations: Vec::new(),
            summary: None,
            summary_parts: 0,
            is_done: false,
        };
        self.streams.entry(task.clone()).or_default().items.push(item);
        if let Some(begun) = begun {
            self.hosted_word(session, task, index, HostedWord::Begun, &begun, batch);
        }
    }

    /// A call id names a call for ever, and a child task is named by it: one that is in use, or is no id, is replaced.
    pub(crate) fn own_call_id(&self, session: &HostedSession, task: &TaskId, kind: ItemKind) -> ItemKind {
        let ItemKind::ToolCall { call_id, name } = kind else { return kind };
        let is_used =
            session.state.tasks.iter().any(|known| {
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
        let call_id = if is_used || !is_id {
            ToolCallId::from_bytes(session.shared.fresh()).to_string()
        } else {
            call_id
        };
        ItemKind::ToolCall { call_id, name }
    }

    pub(crate) fn stream_item(
        &mut self,
        session: &HostedSession,
        task: &TaskId,
        index: u32,
    ) -> Option<(riverrun_event::EventScope, &mut StreamItem)> {
        let scope = session.view.task(task)?.1.step_scope();
        let items = &mut self.streams.get_mut(task)?.items;
        items.iter_mut().rev().find(|item| item.index == index && !item.is_done).map(|item| (scope, item))
    }

    /// The member `sent` of an event that is written now.
    pub(crate) fn sent_with(&mut self, task: &TaskId, growth: Growth, text: &str) -> Option<Vec<RawJson>> {
        self.streams.get_mut(task)?.sent(self.service_streams.get_mut(task), growth, text)
    }

    pub(crate) fn text(
        &mut self,
        session: &HostedSession,
        task: &TaskId,
        index: u32,
        delta: String,
        logprobs: Vec<RawJson>,
        batch: &mut EventBatch,
    ) {
        let is_meant = |item: &StreamItem| item.index == index && !item.is_done;
        let is_there = |stream: &Stream| stream.items.iter().any(is_meant);
        if !self.streams.get(task).is_some_and(is_there) {
            return;
        }
        let sent = self.sent_with(task, Growth::Text, &delta);
        let Some(items) = self.streams.get_mut(task).map(|stream| &mut stream.items) else { return };
        let Some(item) = items.iter_mut().rev().find(|item| is_meant(item)) else { return };
        // It is told again only if it is short, so no more of a long one is kept here.
        if item.text.len() <= MAX_REPEATED_TEXT {
            item.text.push_str(&delta);
        }
        let block = item.text_block.unwrap_or_else(|| item.next_block());
        item.text_block = Some(block);
        if item.maker.is_none() {
            let Some((_, view)) = session.view.task(task) else { return };
            item.maker = Some(DeltaMaker::new(view.step_scope(), item.delta(String::new(), block)));
        }
        let Some(maker) = &item.maker else { return };
        if logprobs.is_empty() && sent.is_none() {
            return batch.push_delta(maker, delta);
        }
        item.logprobs.extend(logprobs.iter().cloned());
        let scope = maker.scope().clone();
        let logprobs = (!logprobs.is_empty()).then_some(logprobs);
        let delta = ModelDelta { logprobs, sent, ..item.delta(delta, block) };
        batch.push(EventType::ModelDelta, &scope, &delta);
    }

    /// A part of a summary is final when the next one begins, or its item ends.
    pub(crate) fn reasoning(
        &mut self,
        session: &HostedSession,
        task: &TaskId,
        index: u32,
        part: Option<u32>,
        delta: String,
        batch: &mut EventBatch,
    ) {
        let Some((scope, item)) = self.stream_item(session, task, index) else { return };
        let (item_id, output_index) = (Some(item.item.clone()), Some(item.output_index));
        if let Some(ended) = part.and_then(|part| item.summary_grows(part, &delta)) {
            let (text, summary_index) = (ended.text, ended.part);
            let summary = ReasoningSummary { text, summary_index, item_id: item_id.clone(), output_index };
            batch.push(EventType::ReasoningSummary, &scope, &summary);
        }
        let growth = if part.is_some() { Growth::Summary } else { Growth::Reasoning };
        let sent = self.sent_with(task, growth, &delta);
        let delta = ReasoningDelta { delta, item_id, output_index, summary_index: part, sent };
        batch.push(EventType::ReasoningDelta, &scope, &delta);
    }

    /// By what the model refuses to answer is a block of its own.
    pub(crate) fn refusal(
        &mut self,
        session: &HostedSession,
        task: &TaskId,
        index: u32,
        delta: String,
        batch: &mut EventBatch,
    ) {
        let Some((scope, item)) = self.stream_item(session, task, index) else { return };
        if item.refusal_block.is_none() {
            let block = item.next_block();
            item.refusal_block = Some(block);
            let tags = Some(vec![TextBlock::REFUSAL.to_owned()]);
            let text = Block::Text(TextBlock { tags, ..TextBlock::default() });
            batch.push(EventType::ItemUpdated, &scope, &item.updated(block, text, BlockChange::Added));
        }
        let base = item.delta(String::new(), item.refusal_block.unwrap_or_default());
        let sent = self.sent_with(task, Growth::Text, &delta);
        batch.push(EventType::ModelDelta, &scope, &ModelDelta { delta, sent, ..base });
    }

    /// What a service says of a tool of its own.
    pub(crate) fn hosted_word(
        &mut self,
        session: &HostedSession,
        task: &TaskId,
        index: u32,
        word: HostedWord,
        json: &RawJson,
        batch: &mut EventBatch,
    ) {
        let Some((scope, item)) = self.stream_item(session, task, index) else { return };
        for block in word.blocks(json) {
            let block_index = item.next_block();
            batch.push(EventType::ItemUpdated, &scope, &item.updated(block_index, block, BlockChange::Done));
        }
    }

    pub(crate) fn item_done(
        &mut self,
        session: &HostedSession,
        task: &TaskId,
        index: u32,
        opaque: Option<RawJson>,
        batch: &mut EventBatch,
    ) {
        let is_hosted = |item: &StreamItem| matches!(item.kind, ItemKind::Hosted { .. });
        // What came whole is not told twice.
        let has_grown = |item: &StreamItem, whole: &RawJson| matches!(&item.kind, ItemKind::Hosted { begun, .. } if begun != whole);
        if let (Some((_, item)), Some(whole)) = (self.stream_item(session, task, index), &opaque)
            && has_grown(item, whole)
        {
            self.hosted_word(session, task, index, HostedWord::Whole, whole, batch);
        }
        let Some((scope, item)) = self.stream_item(session, task, index) else { return };
        item.is_done = true;
        if let Some(SummaryPart { part, text, .. }) = item.summary.take().filter(SummaryPart::is_reported) {
            let (item_id, output_index) = (Some(item.item.clone()), Some(item.output_index));
            let summary = ReasoningSummary { text, summary_index: part, item_id, output_index };
            batch.push(EventType::ReasoningSummary, &scope, &summary);
        }
        let opaque = opaque.filter(|_| !is_hosted(item));
        let annotations = std::mem::take(&mut item.annotations);
        if item.text.len() > MAX_REPEATED_TEXT {
            // An event with all of a long text would be cut: what it cites is told without it.
            for annotations in in_pieces(annotations) {
                let delta = item.delta(String::new(), item.text_block.unwrap_or_default());
                let annotations = Some(annotations);
                batch.push(EventType::ModelDelta, &scope, &ModelDelta { annotations, ..delta });
            }
        } else if !annotations.is_empty() {
            let text = std::mem::take(&mut item.text);
            let annotations = Some(annotations);
            let logprobs = Some(std::mem::take(&mut item.logprobs)).filter(|odds| fits(odds));
            let block = Block::Text(TextBlock { text, annotations, logprobs, ..TextBlock::default() });
            let updated = item.updated(item.text_block.unwrap_or_default(), block, BlockChange::Done);
            batch.push(EventType::ItemUpdated, &scope, &updated);
        }
        match &item.kind {
            ItemKind::ToolCall { .. } | ItemKind::Hosted { .. } => {
                let completed = completed(item, "completed", opaque);
                batch.push(EventType::ItemCompleted, &scope, &completed);
            }
            ItemKind::Message | ItemKind::Reasoning => {
                if let Some(stream) = self.streams.get_mut(task) {
                    stream.done = Some((index, opaque));
                }
            }
        }
    }

    /// The end of a text that has come to its end.
    pub(crate) fn write_done(
        &mut self,
        session: &HostedSession,
        task: &TaskId,
        status: &str,
        batch: &mut EventBatch,
    ) {
        let Some(stream) = self.streams.get_mut(task) else { return };
        let Some((index, opaque)) = stream.done.take() else { return };
        let Some(scope) = session.view.task(task).map(|(_, view)| view.step_scope()) else { return };
        let Some(item) = stream.items.iter().rev().find(|item| item.index == index) else { return };
        batch.push(EventType::ItemCompleted, &scope, &completed(item, status, opaque));
    }

    /// Closes what the call left open: unfinished arguments are never run, cut text is marked.
    pub(crate) fn close_items(&mut self, session: &HostedSession, task: &TaskId, batch: &mut EventBatch) {
        self.write_done(session, task, "completed", batch);
        let Some(stream) = self.streams.remove(task) else { return };
        let Some((_, view)) = session.view.task(task) else { return };
        let scope = view.step_scope();
        for item in stream.items.iter().filter(|item| !item.is_done) {
            batch.push(EventType::ItemCompleted, &scope, &completed(item, "incomplete", None));
        }
    }
}

impl Actor {
    /// A picture, a sound or a file that the model made. What it says next is a text of its own.
    pub(crate) fn whole_block(
        &mut self,
        task: &TaskId,
        index: u32,
        mut block: Block,
        batch: &mut EventBatch,
    ) {
        self.blobs.detach_block(&self.session, &mut block);
        let Some((scope, item)) = self.model.stream_item(&self.session, task, index) else { return };
        let block_index = item.next_block();
        (item.text_block, item.maker) = (None, None);
        item.text.clear();
        batch.push(EventType::ItemUpdated, &scope, &item.updated(block_index, block, BlockChange::Done));
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
        ItemKind::Hosted { .. } => ItemPatch::Hosted(HostedPatch { id, status, ..HostedPatch::default() }),
    };
    ItemCompleted { item: patch, output_index: item.output_index }
}

/// Annotations, so many together as one event may tell.
fn in_pieces(annotations: Vec<Annotation>) -> Vec<Vec<Annotation>> {
    let (mut pieces, mut room) = (Vec::<Vec<Annotation>>::new(), 0);
    for annotation in annotations {
        let size = RawJson::of(&annotation).map_or(0, |json| json.get().len() + 1);
        match pieces.last_mut().filter(|_| size <= room) {
            Some(piece) => piece.push(annotation),
            None => {
                room = MAX_REPEATED_TEXT;
                pieces.push(vec![annotation]);
            }
        }
        room = room.saturating_sub(size);
    }
    pieces
}

/// The odds of a long text are too many for one event; readers of its deltas have had them.
fn fits(odds: &[RawJson]) -> bool {
    const MOST: usize = 64 << 10;
    !odds.is_empty() && odds.iter().map(|one| one.get().len()).sum::<usize>() <= MOST
}
