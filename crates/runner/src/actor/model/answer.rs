//! What the model says, as events.

use riverrun_event::{EventType, Growth, HostedWord, ModelCompleted, RawJson, TaskId, ToolArgs, Usage};
use riverrun_provider::{ItemKind, ModelEvent, StopReason};

use crate::actor::Actor;
use crate::actor::model::stream::Stream;
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
    pub(crate) fn spoken(&self, task: &TaskId) -> Option<&'static str> {
        let provider = self.view.task(task)?.1.provider.as_deref()?;
        self.registry.providers.get(provider)?.speaks()
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
