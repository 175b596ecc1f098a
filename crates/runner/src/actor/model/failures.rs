//! Model calls that fail: tried again, given to another model, or the end of the task.

use std::time::Duration;

use riverrun_event::{
    ErrorInfo, EventScope, EventType, ItemRetracted, LimitState, ModelFailed, RateLimitHit, RoutingDecision,
    RunId, RuntimeNotice, TaskAttempt, TaskChange, TaskId, ThreadInfo,
};
use riverrun_log::seeded::{self, Bug};
use riverrun_provider::{Category, ModelError};

use crate::actor::Actor;
use crate::actor::model::ModelCalls;
use crate::actor::session::HostedSession;
use crate::actor::turn::TurnWork;
use crate::actor::turn::start::{write_attempt, write_run_status};
use crate::drive::{EffectKey, Launch};
use crate::event_batch::EventBatch;
use crate::ids::below;
use crate::plan::TRIES;
use crate::view::TOO_LONG;

/// A service that asks for a longer pause counts as one that will not answer.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

impl Actor {
    pub(crate) fn model_failed(&mut self, task: &TaskId, error: &ModelError, batch: &mut EventBatch) {
        let raw_ref = self.keep_answer(task);
        let shown = self.model.streams.get(task).is_some_and(|stream| !stream.items.is_empty());
        let Some((_, view)) = self.session.view.task(task) else { return };
        let is_patient = error.retry_after.is_none_or(|pause| pause <= LONGEST_PAUSE);
        let retryable = error.category.is_retryable() && is_patient;
        let (failures, scope) = (view.failures + 1, view.step_scope());
        let will_retry = retryable && failures < TRIES;
        let goes_on =
            will_retry || (may_fall_back(error.category) && self.session.next_model(task).is_some());
        if goes_on && !seeded::is_on(Bug::KeepCutText) {
            self.model.retract_step(&self.session, task, "model_failed", batch);
        } else {
            // A message that the service closed last is not known to be all that it had to say.
            self.model.write_done(&self.session, task, "incomplete", batch);
            self.model.close_items(&self.session, task, batch);
        }
        self.session.limits_hit(task, error, &scope, batch);
        let failed = ModelFailed { error: error_info(error, retryable), partial: Some(shown), raw_ref };
        batch.push(EventType::ModelFailed, &scope, &failed);
        if will_retry {
            let pause = self.session.pause(failures).max(error.retry_after.unwrap_or_default());
            let detail = format!("the model is asked again in {} ms: {}", pause.as_millis(), error.message);
            write_run_status(batch, &scope, "waiting", "retrying", Some(detail));
            self.effects.launch_later(EffectKey::Delay(task.clone()), Launch::Delay(pause));
        }
    }

    pub(crate) fn give_up(&mut self, task: &TaskId, batch: &mut EventBatch) {
        let Some((_, view)) = self.session.view.task(task) else { return };
        let error = view.last_error.clone().unwrap_or_default();
        let is_fatal =
            matches!(error.category.as_deref(), Some("invalid_request" | "content_filter" | "cancelled"));
        let (scope, model_index) = (view.step_scope(), view.model);
        let next = self.session.next_model(task).filter(|_| !is_fatal);
        let models =
            self.session.persona(task).map(|persona| persona.spec.models.clone()).unwrap_or_default();
        let has_choice = models.len() > 1;
        let (requested_provider, requested_model) = split(models.get(model_index));
        let decision = RoutingDecision {
            requested_provider,
            requested_model,
            candidate_count: u32::try_from(models.len()).ok(),
            fallback_chain: Some(models),
            error: Some(error.clone()),
            ..RoutingDecision::default()
        };
        let Some(next) = next else {
            if has_choice && !is_fatal {
                let decision_reason = Some("every model failed".to_owned());
                let decision = RoutingDecision { decision_reason, ..decision };
                batch.push(EventType::RoutingNotPossible, &scope, &decision);
            }
            let error = self.session.last_words(task, error);
            if !is_fatal {
                self.session.write_incident(task, &error, batch);
            }
            return self.fail_with(task, error, batch);
        };
        let decision_reason = Some("the model before it failed".to_owned());
        let (selected_provider, selected_model) = split(Some(&next));
        let decision = RoutingDecision { decision_reason, selected_provider, selected_model, ..decision };
        batch.push(EventType::RoutingFallbackApplied, &scope, &decision);
    }

    /// A former owner's model call has no end: it failed, what it showed is taken back, and a new run goes on.
    pub(crate) fn interrupted(&mut self, task: &TaskId, batch: &mut EventBatch) {
        let error = ErrorInfo {
            message: "the server stopped during the model call".to_owned(),
            code: Some("interrupted".to_owned()),
            category: Some("interrupted".to_owned()),
            retryable: Some(true),
            ..ErrorInfo::default()
        };
        self.session.close_compaction(task, &error, batch);
        if self.session.view.task(task).is_some_and(|(_, view)| view.is_model_open) {
            self.model.retract_step(&self.session, task, "interrupted", batch);
            let Some((_, view)) = self.session.view.task(task) else { return };
            let partial = Some(!view.step_items.is_empty());
            let failed = ModelFailed { error: error.clone(), partial, raw_ref: None };
            batch.push(EventType::ModelFailed, &view.step_scope(), &failed);
        }
        self.turns.new_attempt(&mut self.session, task, error, batch);
    }
}

impl HostedSession {
    /// Doubles from half a second on, and half of it is chance, so that many do not come back together.
    fn pause(&self, failures: u32) -> Duration {
        let full = 500_u64 << failures.saturating_sub(1).min(6);
        Duration::from_millis(full / 2 + below(&*self.shared.random, full / 2))
    }

    pub(crate) fn limits_hit(
        &self,
        task: &TaskId,
        error: &ModelError,
        scope: &EventScope,
        batch: &mut EventBatch,
    ) {
        let (provider, model) = split(self.model_of(task).as_ref());
        match error.category {
            Category::RateLimit => {
                let retry_after_ms =
                    error.retry_after.map(|pause| u64::try_from(pause.as_millis()).unwrap_or(u64::MAX));
                let message = Some(error.message.clone());
                let hit =
                    RateLimitHit { provider, model, retry_after_ms, message, ..RateLimitHit::default() };
                batch.push(EventType::RateLimitHit, scope, &hit);
            }
            Category::Quota => {
                let (kind, status) = (Some("quota".to_owned()), Some("blocked".to_owned()));
                let reason = Some(error.message.clone());
                let blocked = LimitState { kind, scope: provider, status, reason, ..LimitState::default() };
                batch.push(EventType::QuotaBlocked, scope, &blocked);
            }
            _ => {}
        }
    }

    /// The model after the present one, if there is another.
    fn next_model(&self, task: &TaskId) -> Option<String> {
        let (_, view) = self.view.task(task)?;
        self.persona(task)?.spec.models.get(view.model + 1).cloned()
    }

    /// No model answers: what that means for the task, and for whoever runs the server.
    fn write_incident(&self, task: &TaskId, error: &ErrorInfo, batch: &mut EventBatch) {
        let Some((_, view)) = self.view.task(task) else { return };
        if error.category.as_deref() == Some("quota") {
            let blocked = TaskChange { reason: Some(error.message.clone()), ..TaskChange::default() };
            batch.push(EventType::TaskBlocked, &view.scope, &blocked);
        }
        let ErrorInfo { code, message, category, retryable, .. } = error.clone();
        let (message, detail) = (Some(message), None);
        let notice = RuntimeNotice { code, message, category, retryable, detail };
        batch.push(EventType::RuntimeError, &view.step_scope(), &notice);
    }

    /// Why the task fails. The service's own words go through: callers of a gateway know them.
    fn last_words(&self, task: &TaskId, error: ErrorInfo) -> ErrorInfo {
        let is_gateway = self.persona(task).is_none_or(|persona| persona.is_gateway);
        let code = match error.category.as_deref() {
            Some("content_filter") => "content_filter",
            Some(TOO_LONG) if !is_gateway => TOO_LONG,
            Some(_) | None => "model_failed",
        };
        let mut message = error.message;
        if code == TOO_LONG {
            let view = self.view.task(task).map(|(_, view)| (view.was_too_long, view.cuts > 0));
            let why = match view.unwrap_or_default() {
                (_, true) => {
                    "the conversation does not fit the model, even with its tools' results shortened"
                }
                (true, false) => {
                    "the conversation does not fit the model, even with its older turns summarised"
                }
                (false, false) => {
                    "the turn alone does not fit the model; there are no older turns to summarise and no long results to shorten"
                }
            };
            message = format!("{why}: {message}; ask for less at once, or use a model with a larger context");
        }
        ErrorInfo { code: Some(code.to_owned()), message, ..error }
    }
}

impl ModelCalls {
    /// Takes back what the newest model call showed.
    fn retract_step(&mut self, session: &HostedSession, task: &TaskId, reason: &str, batch: &mut EventBatch) {
        let stream = self.streams.remove(task).unwrap_or_default();
        let Some((_, view)) = session.view.task(task) else { return };
        let mut items: Vec<(String, u32)> =
            stream.items.iter().map(|item| (item.item.clone(), item.output_index)).collect();
        items.extend(
            view.step_items
                .iter()
                .filter(|(id, _)| items.iter().all(|(known, _)| known != id))
                .cloned()
                .collect::<Vec<_>>(),
        );
        for (item_id, output_index) in items {
            let retracted = ItemRetracted { item_id, output_index, reason: reason.to_owned() };
            batch.push(EventType::ItemRetracted, &view.step_scope(), &retracted);
        }
    }
}

impl TurnWork {
    /// The run of a former owner is lost; a new one of the same task goes on.
    pub(crate) fn new_attempt(
        &mut self,
        session: &mut HostedSession,
        task: &TaskId,
        error: ErrorInfo,
        batch: &mut EventBatch,
    ) {
        if !self.taken_over.insert(task.clone()) {
            return;
        }
        let run = RunId::from_bytes(session.shared.fresh());
        let Some(view) = session.view.task_mut(task) else { return };
        let attempt = TaskAttempt { error: Some(error), retryable: Some(true), ..TaskAttempt::default() };
        batch.push(EventType::TaskAttemptFailed, &view.scope, &attempt);
        view.scope.run_id = Some(run);
        if view.parent.is_none() {
            // Nobody worked in the thread while the server was away.
            let status = Some("running".to_owned());
            batch.push(
                EventType::ThreadUpdated,
                &view.scope,
                &ThreadInfo { status, ..ThreadInfo::default() },
            );
        }
        write_attempt(batch, &view.scope, view.attempts + 1);
    }
}

pub(crate) fn error_info(error: &ModelError, retryable: bool) -> ErrorInfo {
    ErrorInfo { retryable: Some(retryable), ..error.info() }
}

fn may_fall_back(category: Category) -> bool {
    !matches!(category, Category::InvalidRequest | Category::ContentFilter | Category::Cancelled)
}

pub(crate) fn split(name: Option<&String>) -> (Option<String>, Option<String>) {
    let parts = name.and_then(|name| name.split_once('/'));
    (parts.map(|(provider, _)| provider.to_owned()), parts.map(|(_, model)| model.to_owned()))
}
