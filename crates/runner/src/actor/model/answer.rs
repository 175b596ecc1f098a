//! What the model says, as events.

use riverrun_event::{
    Annotation, Block, BlockChange, DeltaMaker, EventType, Growth, HostedItem, HostedPatch, HostedWord, Item,
    ItemCompleted, ItemId, ItemPatch, ItemStarted, MessageItem, MessagePatch, ModelCompleted, ModelDelta,
    Patch, RawJson, ReasoningDelta, ReasoningItem, ReasoningPatch, ReasoningSummary, TaskId, TextBlock,
    ToolArgs, ToolCallId, ToolCallItem, ToolCallPatch, Usage,
};
use riverrun_provider::{ItemKind, ModelEvent, StopReason};

use crate::actor::Actor;
use crate::actor::model::ModelCalls;
use crate::actor::model::stream::{MAX_REPEATED_TEXT, Stream, StreamItem, SummaryPart};
use crate::actor::session::HostedSession;
use crate::event_batch::{EventBatch, with_call};
use crate::view::TOO_MANY_CALLS;

impl Actor {
    /// Everything but the end of the call.
    pub(crate) fn model_event(&mut self, task: &TaskId, event: ModelEvent, batch: &mut EventBatch) {
        // Nearly every event is a piece of text behind another one, and nothing is to be written before it.
        if self.model.streams.get(task).is_none_or(Stream::owes) {
            self.model.write_estimate(&self.session, task, batch);
            if is_of_item(&event) {
                self.model.write_done(&self.session, task, "completed", batch);
            }
        }
        match event {
            ModelEvent::Started { response_id, model } => {
                if let Some(stream) = self.model.streams.get_mut(task) {
                    (stream.response, stream.model) = (response_id, model);
                }
            }
            ModelEvent::ItemStarted { index, kind } => {
                let is_call = matches!(kind, ItemKind::ToolCall { .. });
                // What follows of a call that is not taken finds no item, and is dropped.
                if !is_call || self.model.streams.get_mut(task).is_none_or(Stream::takes_call) {
                    self.model.item_started(&mut self.session, task, index, kind, batch);
                }
            }
            ModelEvent::Text { index, delta } => {
                self.model.text(&self.session, task, index, delta, Vec::new(), batch)
            }
            ModelEvent::Scored { index, delta, logprobs } => {
                self.model.text(&self.session, task, index, delta, logprobs, batch)
            }
            ModelEvent::Refusal { index, delta } => {
                self.model.refusal(&self.session, task, index, delta, batch)
            }
            ModelEvent::Frame { index, frame } => {
                self.model.hosted_word(&self.session, task, index, HostedWord::Frame, &frame, batch);
            }
            ModelEvent::Reasoning { index, summary_index, delta } => {
                self.model.reasoning(&self.session, task, index, summary_index, delta, batch);
            }
            ModelEvent::Arguments { index, delta } => {
                let Some((scope, item)) = self.model.stream_item(&self.session, task, index) else { return };
                let ItemKind::ToolCall { call_id, .. } = &item.kind else { return };
                let scope = with_call(&scope, call_id);
                let call_id = Some(call_id.clone());
                let (item_id, output_index) = (Some(item.item.clone()), Some(item.output_index));
                let sent = self.model.sent_with(task, Growth::Arguments, &delta);
                let args = ToolArgs { delta, item_id, output_index, call_id, sent };
                batch.push(EventType::ToolArgs, &scope, &args);
            }
            ModelEvent::Block { index, block } => self.whole_block(task, index, block, batch),
            ModelEvent::Annotated { index, annotation } => {
                if let Some((_, item)) = self.model.stream_item(&self.session, task, index) {
                    item.annotations.push(annotation);
                }
            }
            ModelEvent::ItemDone { index, opaque } => {
                self.model.item_done(&self.session, task, index, opaque, batch)
            }
            ModelEvent::RateLimited(limit) => self.session.rate_limited(task, &limit, batch),
            ModelEvent::State(state) => self.session.shared_state(&state, batch),
            ModelEvent::Vendor { name, data } => self.session.vendor(task, &name, &data, batch),
            ModelEvent::Warning { code, message, detail } => {
                self.session.warning(task, code, message, Some(detail), batch);
            }
            ModelEvent::Original(event) => self.model.original(&self.session, task, &event, batch),
            ModelEvent::Sent { text, events } => self.sent(task, *text, events, batch),
            ModelEvent::Raw(bytes) => {
                if let Some(stream) = self.model.streams.get_mut(task) {
                    stream.raw.extend_from_slice(&bytes);
                }
            }
            ModelEvent::Completed { .. } | ModelEvent::Failed(_) => {}
        }
    }

    /// A picture, a sound or a file that the model made. What it says next is a text of its own.
    fn whole_block(&mut self, task: &TaskId, index: u32, mut block: Block, batch: &mut EventBatch) {
        self.blobs.detach_block(&self.session, &mut block);
        let Some((scope, item)) = self.model.stream_item(&self.session, task, index) else { return };
        let block_index = item.next_block();
        (item.text_block, item.maker) = (None, None);
        item.text.clear();
        batch.push(EventType::ItemUpdated, &scope, &item.updated(block_index, block, BlockChange::Done));
    }

    pub(crate) fn model_completed(
        &mut self,
        task: &TaskId,
        stop: &StopReason,
        usage: Usage,
        members: Option<RawJson>,
        batch: &mut EventBatch,
    ) {
        let dialect = self.session.spoken(task).map(ToOwned::to_owned);
        let raw_ref = self.keep_answer(task);
        let Some(stream) = self.model.streams.get(task) else { return };
        let (response_id, model, excess) = (stream.response.clone(), stream.model.clone(), stream.excess());
        let is_cut = matches!(stop, StopReason::MaxTokens | StopReason::ContentFilter);
        self.model.write_done(&self.session, task, if is_cut { "incomplete" } else { "completed" }, batch);
        self.model.close_items(&self.session, task, batch);
        if let Some(message) = excess {
            self.session.warning(task, TOO_MANY_CALLS, &message, None, batch);
        }
        let Some((_, view)) = self.session.view.task(task) else { return };
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
            dialect: dialect.filter(|_| members.is_some()),
            members,
            raw_ref,
        };
        let scope = view.step_scope();
        batch.push(EventType::ModelCompleted, &scope, &completed);
        self.session.record_cost(task, &usage, &scope, batch);
    }
}

impl HostedSession {
    /// The dialect of the service that this task calls.
    fn spoken(&self, task: &TaskId) -> Option<&'static str> {
        let provider = self.view.task(task)?.1.provider.as_deref()?;
        self.registry.providers.get(provider)?.speaks()
    }
}

impl ModelCalls {
    fn item_started(
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
    fn own_call_id(&self, session: &HostedSession, task: &TaskId, kind: ItemKind) -> ItemKind {
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

    fn stream_item(
        &mut self,
        session: &HostedSession,
        task: &TaskId,
        index: u32,
    ) -> Option<(riverrun_event::Scope, &mut StreamItem)> {
        let scope = session.view.task(task)?.1.step_scope();
        let items = &mut self.streams.get_mut(task)?.items;
        items.iter_mut().rev().find(|item| item.index == index && !item.is_done).map(|item| (scope, item))
    }

    /// The member `sent` of an event that is written now.
    fn sent_with(&mut self, task: &TaskId, growth: Growth, text: &str) -> Option<Vec<RawJson>> {
        self.streams.get_mut(task)?.sent(self.service_streams.get_mut(task), growth, text)
    }

    fn text(
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
    fn reasoning(
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
    fn refusal(
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
    fn hosted_word(
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

    fn item_done(
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

/// True for what tells of an item, or keeps its place between two. The last text before the end of a call may be one that was cut.
fn is_of_item(event: &ModelEvent) -> bool {
    match event {
        ModelEvent::ItemStarted { .. }
        | ModelEvent::Text { .. }
        | ModelEvent::Scored { .. }
        | ModelEvent::Refusal { .. }
        | ModelEvent::Frame { .. }
        | ModelEvent::Reasoning { .. }
        | ModelEvent::Arguments { .. }
        | ModelEvent::Block { .. }
        | ModelEvent::Annotated { .. }
        | ModelEvent::ItemDone { .. }
        | ModelEvent::Vendor { .. }
        | ModelEvent::Sent { .. }
        | ModelEvent::Warning { .. } => true,
        ModelEvent::Started { .. }
        | ModelEvent::Original(_)
        | ModelEvent::RateLimited(_)
        | ModelEvent::State(_)
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

pub(crate) fn stop_word(stop: &StopReason) -> &str {
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
