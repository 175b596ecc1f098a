//! What the model calls cost, and what their services allow.

use std::time::Duration;

use riverrun_event::{
    Cost, EventScope, EventType, LimitState, RawJson, RuntimeNotice, TaskId, Timestamp, Usage,
};
use riverrun_provider::{ModelRequest, RateLimit, cost};

use crate::actor::model::ModelCalls;
use crate::actor::model::failures::split;
use crate::actor::session::HostedSession;
use crate::event_batch::EventBatch;
use crate::history;
use crate::plan::Passed;

impl HostedSession {
    /// The name of the model that the task speaks to: `PROVIDER/MODEL`.
    pub(crate) fn model_of(&self, task: &TaskId) -> Option<String> {
        let (_, view) = self.view.task(task)?;
        self.persona(task)?.spec.models.get(view.model).cloned()
    }

    /// What the model will have cost once it has read the request, at about four bytes to a token. What it says is not
    /// known before it is said.
    pub(crate) fn estimate(&self, task: &TaskId, request: &ModelRequest) -> Option<Cost> {
        let name = self.model_of(task)?;
        let (provider, model) = split(Some(&name));
        let price = self.registry.providers.get(provider.as_ref()?)?.price(model.as_ref()?)?;
        let instructions = request.instructions.as_ref().map_or(0, |text| text.len() as u64 / 4);
        let input_tokens = Some(history::tokens(&request.history) + instructions);
        let usage = Usage { input_tokens, output_tokens: Some(0), ..Usage::default() };
        let amount = cost(&price, &usage)?;
        Some(Cost { amount, currency: Some("USD".to_owned()), model, provider, usage: Some(usage) })
    }

    pub(crate) fn record_cost(
        &self,
        task: &TaskId,
        usage: &Usage,
        scope: &EventScope,
        batch: &mut EventBatch,
    ) {
        let Some(name) = self.model_of(task) else { return };
        let (Some(provider), Some(model)) = split(Some(&name)) else { return };
        let price = self.registry.providers.get(&provider).and_then(|known| known.price(&model));
        let Some(price) = price else { return };
        // What the service did not count is unknown, and unknown is not nothing.
        let Some(amount) = cost(&price, usage) else { return self.warn_of_cost(task, &name, scope, batch) };
        let currency = Some("USD".to_owned());
        let cost = Cost { amount, currency, model: Some(model), provider: Some(provider), usage: None };
        batch.push(EventType::CostRecorded, scope, &cost);
    }

    /// A limit that cannot be kept exactly is told, once for each call.
    fn warn_of_cost(&self, task: &TaskId, model: &str, scope: &EventScope, batch: &mut EventBatch) {
        if self.persona(task).is_none_or(|persona| persona.spec.limits.cost.is_none()) {
            return;
        }
        let message = format!(
            "the service of `{model}` did not count its tokens: the cost limit counts what reading the request was estimated to cost, and not what the model said"
        );
        let notice = RuntimeNotice {
            code: Some("cost_unknown".to_owned()),
            message: Some(message),
            ..RuntimeNotice::default()
        };
        batch.push(EventType::RuntimeWarning, scope, &notice);
    }

    /// Tells when little is left; what is plenty is no news.
    pub(crate) fn rate_limited(&self, task: &TaskId, limit: &RateLimit, batch: &mut EventBatch) {
        let Some((_, view)) = self.view.task(task) else { return };
        let (Some(whole), Some(left)) = (limit.limit, limit.remaining) else { return };
        if left.saturating_mul(10) > whole {
            return;
        }
        let low = LimitState {
            kind: Some(limit.kind.clone()),
            scope: view.provider.as_deref().map(ToOwned::to_owned),
            limit: Some(whole as f64),
            remaining: Some(left as f64),
            reset_at: limit.resets_in.map(|wait| later(batch.now, wait)),
            status: Some("low".to_owned()),
            ..LimitState::default()
        };
        batch.push(EventType::QuotaLow, &view.step_scope(), &low);
    }

    /// A limit of the agent's own ends the turn.
    pub(crate) fn limit_passed(&self, task: &TaskId, passed: Option<&Passed>, batch: &mut EventBatch) {
        let (Some((_, view)), Some(passed)) = (self.view.task(task), passed) else { return };
        let blocked = LimitState {
            kind: Some(passed.kind.to_owned()),
            scope: Some("turn".to_owned()),
            limit: Some(passed.limit),
            used: Some(passed.used),
            status: Some("blocked".to_owned()),
            ..LimitState::default()
        };
        batch.push(EventType::LimitChanged, &view.scope, &blocked);
    }

    /// What was left out or mended of a service's answer.
    pub(crate) fn warning(
        &self,
        task: &TaskId,
        code: &str,
        message: &str,
        detail: Option<RawJson>,
        batch: &mut EventBatch,
    ) {
        let Some((_, view)) = self.view.task(task) else { return };
        let (code, message) = (Some(code.to_owned()), Some(message.to_owned()));
        let notice = RuntimeNotice { code, message, detail, ..RuntimeNotice::default() };
        batch.push(EventType::RuntimeWarning, &view.step_scope(), &notice);
    }

    /// What has no place here is kept under the provider's name.
    pub(crate) fn vendor(&self, task: &TaskId, name: &str, data: &RawJson, batch: &mut EventBatch) {
        let Some((_, view)) = self.view.task(task) else { return };
        let clean = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
        let provider = view.provider.as_deref().unwrap_or("provider");
        let kind: String = format!("x.{provider}.{name}").chars().map(clean).take(128).collect();
        let payload = if data.get().starts_with('{') { data.clone() } else { wrapped(data) };
        batch.push(riverrun_event::EventType::Other(kind.into()), &view.step_scope(), &payload);
    }
}

impl ModelCalls {
    /// Tells the estimate with the first that the model says.
    pub(crate) fn write_estimate(&mut self, session: &HostedSession, task: &TaskId, batch: &mut EventBatch) {
        let estimate = self.streams.get_mut(task).and_then(|stream| stream.estimate.take());
        let (Some(estimate), Some((_, view))) = (estimate, session.view.task(task)) else { return };
        batch.push(EventType::CostEstimated, &view.step_scope(), &estimate);
    }
}

impl HostedSession {
    /// What an agent shares with its readers stands in the session's metadata.
    pub(crate) fn shared_state(&self, data: &RawJson, batch: &mut EventBatch) {
        let known = self.state.session.metadata.as_ref();
        let mut metadata: serde_json::Map<String, serde_json::Value> =
            known.and_then(|raw| raw.to().ok()).unwrap_or_default();
        let Ok(value) = serde_json::from_str(data.get()) else { return };
        metadata.insert("state".to_owned(), value);
        let metadata = RawJson::of(&metadata).ok();
        let info = riverrun_event::SessionInfo { metadata, ..Default::default() };
        batch.push(riverrun_event::EventType::SessionUpdated, &Default::default(), &info);
    }
}

/// The time so much later, RFC 3339.
pub(crate) fn later(now: Timestamp, wait: Duration) -> String {
    let millis = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
    let mut text = String::new();
    Timestamp::from_millis(now.millis().saturating_add(millis)).write(&mut text);
    text
}

fn wrapped(data: &RawJson) -> RawJson {
    RawJson::parse(format!("{{\"data\":{}}}", data.get())).unwrap_or_default()
}
