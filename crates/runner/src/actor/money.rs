//! What the model calls cost, and what their services allow.

use riverrun_event::{Cost, EventType, LimitState, RawJson, Scope, TaskId, Usage};
use riverrun_provider::RateLimit;

use super::Actor;
use super::failing::split;
use crate::page::Page;

impl Actor {
    /// The name of the model that the task speaks to: `PROVIDER/MODEL`.
    pub(super) fn model_of(&self, task: &TaskId) -> Option<String> {
        let (_, view) = self.view.task(task)?;
        self.persona(task)?.spec.models.get(view.model).cloned()
    }

    pub(super) fn record_cost(&mut self, task: &TaskId, usage: &Usage, scope: &Scope, page: &mut Page) {
        let Some(name) = self.model_of(task) else { return };
        let Some(price) = self.core.registry.prices.get(&name) else { return };
        let (provider, model) = split(Some(&name));
        let currency = Some("USD".to_owned());
        let cost = Cost { amount: price.of(usage), currency, model, provider, usage: None };
        page.push(EventType::CostRecorded, scope, &cost);
    }

    /// Tells when little is left; what is plenty is no news.
    pub(super) fn rate_limited(&self, task: &TaskId, limit: &RateLimit, page: &mut Page) {
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
            status: Some("low".to_owned()),
            ..LimitState::default()
        };
        page.push(EventType::QuotaLow, &view.step_scope(), &low);
    }

    /// What has no place here is kept under the provider's name.
    pub(super) fn vendor(&self, task: &TaskId, name: &str, data: &RawJson, page: &mut Page) {
        let Some((_, view)) = self.view.task(task) else { return };
        let clean = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
        let provider = view.provider.as_deref().unwrap_or("provider");
        let kind: String = format!("x.{provider}.{name}").chars().map(clean).take(128).collect();
        let payload = if data.get().starts_with('{') { data.clone() } else { wrapped(data) };
        page.push(riverrun_event::EventType::Other(kind.into()), &view.step_scope(), &payload);
    }
}

impl Actor {
    /// What an agent shares with its readers stands in the session's metadata.
    pub(super) fn shared_state(&self, data: &RawJson, page: &mut Page) {
        let known = self.state.session.metadata.as_ref();
        let mut metadata: serde_json::Map<String, serde_json::Value> =
            known.and_then(|raw| raw.to().ok()).unwrap_or_default();
        let Ok(value) = serde_json::from_str(data.get()) else { return };
        metadata.insert("state".to_owned(), value);
        let metadata = RawJson::of(&metadata).ok();
        let info = riverrun_event::SessionInfo { metadata, ..Default::default() };
        page.push(riverrun_event::EventType::SessionUpdated, &Default::default(), &info);
    }
}

fn wrapped(data: &RawJson) -> RawJson {
    RawJson::parse(format!("{{\"data\":{}}}", data.get())).unwrap_or_default()
}
