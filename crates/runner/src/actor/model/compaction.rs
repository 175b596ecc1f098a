//! Long conversations: older turns give way to a summary, and the log says where.

use riverrun_event::{
    BlobRef, Compaction, ErrorInfo, EventScope, EventType, Input, ModelCompleted, ModelFailed,
    ModelRequested, StepId, TaskId, ThreadId, TurnId,
};
use riverrun_provider::ModelRequest;
use serde_json::Value;

use crate::actor::Actor;
use crate::actor::model::answer::stop_word;
use crate::actor::model::failures::{error_info, split};
use crate::actor::model::history::SessionHistory;
use crate::actor::session::HostedSession;
use crate::drive::{CompletedCall, EffectKey, Launch, Summarised, SummaryCall};
use crate::event_batch::{EventBatch, with_step};
use crate::history;
use crate::view::{RESULTS, TOO_LONG};

const ASK: &str = "Write a summary of the conversation above for yourself: what was asked, what was found, what was \
    decided, what is still open. Keep names, numbers and references exact. Answer with the summary alone.";

/// Why older turns give way.
#[derive(Clone, Copy)]
enum Trigger {
    /// They have more tokens than this.
    Tokens(u64),
    /// The model refused the conversation.
    TooLong,
}

impl Trigger {
    const fn as_str(self) -> &'static str {
        match self {
            Trigger::Tokens(_) => "tokens",
            Trigger::TooLong => TOO_LONG,
        }
    }
}

impl Actor {
    /// True if older turns are being summarised first; the model is called after that.
    pub(crate) async fn compact(&mut self, task: &TaskId, batch: &mut EventBatch) -> bool {
        // A conversation that came with the turn is read as it is.
        let persona = self.session.persona(task).filter(|persona| persona.settings.conversation.is_none());
        let limit = persona.and_then(|persona| persona.spec.compact_at_tokens);
        let Some(limit) = limit.filter(|_| !self.history.compacted.contains(task)) else { return false };
        self.history.compacted.insert(task.clone());
        self.summarise_past(task, Trigger::Tokens(limit), batch).await
    }

    /// The model does not take the conversation: older turns give way, or what the turn's own tools said.
    pub(crate) async fn shorten(&mut self, task: &TaskId, batch: &mut EventBatch) {
        self.history.compacted.insert(task.clone());
        let was_too_long = self.session.view.task(task).is_some_and(|(_, view)| view.was_too_long);
        if !was_too_long && self.summarise_past(task, Trigger::TooLong, batch).await {
            return;
        }
        if !self.history.shorten_results(&self.session, task, batch) {
            self.give_up(task, batch);
        }
    }

    /// False if there is nothing to summarise.
    async fn summarise_past(&mut self, task: &TaskId, trigger: Trigger, batch: &mut EventBatch) -> bool {
        let Some((turn, view)) = self.session.view.task(task).filter(|(_, view)| view.parent.is_none())
        else {
            return false;
        };
        let (turn_id, thread, model_index) = (turn.turn.clone(), turn.thread.clone(), view.model);
        let step = StepId::from_bytes(self.session.shared.fresh());
        let scope = with_step(&view.scope, Some(&step));
        let Some(persona) = self.session.persona(task) else { return false };
        let Some((provider, model)) = persona.model(&self.session.registry, model_index) else {
            return false;
        };
        let provider = provider.clone();
        let mut past = Vec::new();
        self.history.past(&self.session, &thread, &turn_id, None, &mut past).await;
        let before = history::tokens(&past);
        let turns = self.history.past_turns(&self.session, &thread, &turn_id);
        match trigger {
            _ if turns.is_empty() => return false,
            Trigger::Tokens(limit) if before <= limit => return false,
            Trigger::Tokens(_) => {}
            // What was too long for an answer is too long for a summary too.
            Trigger::TooLong => history::cut(&mut past, before / 2),
        }
        history::user(&Input::Text(ASK.to_owned()), &mut past);
        let (history, keep_raw) = (history::pair(past), persona.spec.keep_raw);
        let request = ModelRequest { model, history, keep_raw, ..ModelRequest::default() };
        let started = Compaction {
            trigger: Some(trigger.as_str().to_owned()),
            affected_turns: Some(turns),
            tokens_before: Some(before),
            ..Compaction::default()
        };
        batch.push(EventType::ContextCompactionStarted, &scope, &started);
        let (name, model) = (Some(provider.name().to_owned()), Some(request.model.clone()));
        let input_ref = self.blobs.keep_request(&self.session, &*provider, &request);
        let requested = ModelRequested { provider: name, model, input_ref };
        batch.push(EventType::ModelRequested, &scope, &requested);
        let (log, key) = (self.session.shared.journal.log().clone(), self.session.key.clone());
        let call = SummaryCall { provider, request, log, key };
        self.effects.launch_later(EffectKey::Summary(task.clone()), Launch::Summary(Box::new(call)));
        true
    }

    /// The summary is there, or the conversation goes on without one.
    pub(crate) fn compacted(&mut self, task: &TaskId, made: Summarised, batch: &mut EventBatch) {
        let Some((turn, view)) = self.session.view.task(task) else { return };
        let scope = with_step(&view.scope, view.compacting.as_ref());
        let trigger = if view.was_too_long { Trigger::TooLong } else { Trigger::Tokens(0) };
        let trigger = Some(trigger.as_str().to_owned());
        let affected_turns = Some(self.history.past_turns(&self.session, &turn.thread, &turn.turn));
        let raw_ref = self.blobs.keep_raw(&self.session, made.raw);
        match made.call {
            Ok(answer) => self.session.summary_completed(task, answer, raw_ref, &scope, batch),
            Err(error) => {
                self.session.limits_hit(task, &error, &scope, batch);
                let failed = ModelFailed { error: error_info(&error, false), partial: Some(false), raw_ref };
                batch.push(EventType::ModelFailed, &scope, &failed);
            }
        }
        match made.stored {
            Ok(summary) => {
                let completed = Compaction {
                    trigger,
                    affected_turns,
                    summary_ref: Some(BlobRef::Bare(summary.reference)),
                    tokens_after: Some((summary.size as u64).div_ceil(4)),
                    ..Compaction::default()
                };
                batch.push(EventType::ContextCompactionCompleted, &scope, &completed);
            }
            Err(message) => {
                let code = Some("no_summary".to_owned());
                let error = Some(ErrorInfo { message, code, ..ErrorInfo::default() });
                let failed = Compaction { trigger, error, affected_turns, ..Compaction::default() };
                batch.push(EventType::ContextCompactionFailed, &scope, &failed);
            }
        }
    }
}

impl SessionHistory {
    /// Halves what the model reads of the task's own results. False if none is long enough to give way.
    fn shorten_results(&mut self, session: &HostedSession, task: &TaskId, batch: &mut EventBatch) -> bool {
        let Some(provider) = session.view.task(task).and_then(|(_, view)| view.provider.clone()) else {
            return false;
        };
        let mut items = session.own_items(task, &provider);
        let before = history::result_tokens(&items);
        let after = before / 2;
        if !history::cut_results(&mut items, after) {
            return false;
        }
        // What older turns were summarised to stands as it was told.
        let summary = self.recorded_summary();
        let turns = summary["affectedTurns"].as_array().map(|turns| {
            turns.iter().filter_map(Value::as_str).map(ToOwned::to_owned).collect::<Vec<String>>()
        });
        let Some((_, view)) = session.view.task(task) else { return false };
        let scope = with_step(&view.scope, Some(&StepId::from_bytes(session.shared.fresh())));
        let started = Compaction {
            trigger: Some(RESULTS.to_owned()),
            tokens_before: Some(before),
            ..Compaction::default()
        };
        batch.push(EventType::ContextCompactionStarted, &scope, &started);
        let completed = Compaction {
            affected_turns: turns,
            summary_ref: summary["summaryRef"].as_str().map(|name| BlobRef::Bare(name.to_owned())),
            tokens_after: Some(after),
            ..started
        };
        batch.push(EventType::ContextCompactionCompleted, &scope, &completed);
        true
    }

    /// Every turn that the model would read, those of an earlier summary included.
    pub(crate) fn past_turns(
        &self,
        session: &HostedSession,
        thread: &ThreadId,
        before: &TurnId,
    ) -> Vec<String> {
        let mut turns: Vec<String> =
            self.older_turns(session, thread).iter().map(ToString::to_string).collect();
        turns.extend(session.ended_turns(thread, before).iter().map(|turn| turn.turn_id.to_string()));
        turns
    }

    /// What the newest summary covers and where it is.
    pub(crate) fn recorded_summary(&self) -> Value {
        self.context.summary.clone()
    }
}

impl HostedSession {
    fn summary_completed(
        &self,
        task: &TaskId,
        answer: CompletedCall,
        raw_ref: Option<BlobRef>,
        scope: &EventScope,
        batch: &mut EventBatch,
    ) {
        let provider = self.model_of(task).and_then(|name| split(Some(&name)).0);
        let completed = ModelCompleted {
            usage: Some(answer.usage.clone()),
            stop_reason: Some(stop_word(&answer.stop).to_owned()),
            stop_sequence: None,
            model: answer.model,
            provider,
            response_id: answer.response,
            dialect: None,
            members: None,
            raw_ref,
        };
        batch.push(EventType::ModelCompleted, scope, &completed);
        self.record_cost(task, &answer.usage, scope, batch);
    }

    /// Nobody will see the end of the summary that is being made.
    pub(crate) fn close_compaction(&self, task: &TaskId, error: &ErrorInfo, batch: &mut EventBatch) {
        let Some((_, view)) = self.view.task(task) else { return };
        let Some(step) = &view.compacting else { return };
        let scope = with_step(&view.scope, Some(step));
        let failed = ModelFailed { error: error.clone(), partial: Some(false), raw_ref: None };
        batch.push(EventType::ModelFailed, &scope, &failed);
        let failed = Compaction { error: Some(error.clone()), ..Compaction::default() };
        batch.push(EventType::ContextCompactionFailed, &scope, &failed);
    }

    pub(crate) async fn summary_text(&self, summary: &Value) -> Option<String> {
        let reference = riverrun_log::BlobId::parse(summary["summaryRef"].as_str()?)?;
        let blob = self.shared.journal.log().blob(&self.key.tenant, &reference).await.ok().flatten()?;
        String::from_utf8(blob.bytes.to_vec()).ok()
    }
}
