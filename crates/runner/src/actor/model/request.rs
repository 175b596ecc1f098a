//! What the model is asked.

use riverrun_event::{
    BlobRef, CandidateModels, EventScope, EventType, ModelRequested, RawJson, RoutingDecision, StepId,
    TaskId, TaskProfile,
};
use riverrun_provider::{ModelRequest, Provider};

use crate::actor::Actor;
use crate::actor::Stop;
use crate::actor::append::blobs::BlobQueue;
use crate::actor::append::blobs::JSON;
use crate::actor::model::failures::split;
use crate::actor::model::history::SessionHistory;
use crate::actor::session::HostedSession;
use crate::drive::{EffectKey, Launch, ModelCall};
use crate::ending::write_unread;
use crate::event_batch::{EventBatch, with_step};
use crate::history::Reader;
use crate::resolved_agent::ResolvedAgent;

impl HostedSession {
    pub(crate) fn persona(&self, task: &TaskId) -> Option<ResolvedAgent> {
        let (turn, view) = self.view.task(task)?;
        crate::plan::persona(&self.state, &self.registry, turn, view)
    }

    /// Tells which tools are at hand, where that may change and is not what was last told.
    fn write_catalogue(&self, persona: &ResolvedAgent, scope: &EventScope, batch: &mut EventBatch) {
        let Some(catalogue) = persona.catalogue() else { return };
        if riverrun_fold::view::tool_inventory(&self.state) != catalogue.tools {
            batch.push(EventType::ToolCatalogResolved, scope, &catalogue);
        }
    }

    /// Names a call to its service.
    fn call_key(&self, step: &StepId) -> String {
        format!("{}/{step}", self.key.session)
    }

    /// Input that came in the meantime takes its place in the conversation now.
    pub(crate) fn write_steers(&mut self, task: &TaskId, batch: &mut EventBatch) {
        if let Some(view) = self.view.task_mut(task) {
            write_unread(&self.shared, view, batch);
        }
    }
}

impl Actor {
    /// Announces a model call. It begins when this is durable.
    pub(crate) async fn request_model(&mut self, task: &TaskId, batch: &mut EventBatch) -> Result<(), Stop> {
        let Some(persona) = self.session.persona(task) else { return Ok(()) };
        let Some((_, view)) = self.session.view.task(task) else { return Ok(()) };
        let model_index = view.model;
        if persona.model(&self.session.registry, model_index).is_none() {
            let name = persona.spec.models.get(model_index).map_or("none", String::as_str);
            let message = format!(
                "agent `{}` asks for model `{name}`, whose provider is not configured",
                persona.spec.name
            );
            self.fail_task(task, "model_not_found", &message, batch);
            return Ok(());
        }
        self.session.write_steers(task, batch);
        let step = StepId::from_bytes(self.session.shared.fresh());
        // What the agent makes of the conversation may fail, and is known before the call is announced.
        let is_known = persona.spec.keep_raw || persona.spec.merge.is_some();
        let made = if is_known { self.known_call(task, &step, batch).await? } else { Ok(None) };
        let made = match made {
            Ok(made) => made,
            Err(reason) => {
                let message = format!("the history of agent `{}` was refused: {reason}", persona.spec.name);
                self.fail_task(task, "history_refused", &message, batch);
                return Ok(());
            }
        };
        let input_ref = made
            .as_ref()
            .and_then(|call| self.blobs.keep_request(&self.session, &*call.provider, &call.request));
        let Some((_, view)) = self.session.view.task(task) else { return Ok(()) };
        let scope = with_step(&view.scope, Some(&step));
        if !view.is_routed {
            write_routing(batch, &scope, &persona);
        }
        self.session.write_catalogue(&persona, &scope, batch);
        let (provider, model) = split(persona.spec.models.get(model_index));
        batch.push(EventType::ModelRequested, &scope, &ModelRequested { provider, model, input_ref });
        self.effects.launch_later(EffectKey::Model(task.clone()), Launch::Model(made));
        Ok(())
    }

    /// The call that will be made. What it asks is known once everything before it is in the state.
    async fn known_call(
        &mut self,
        task: &TaskId,
        step: &StepId,
        batch: &mut EventBatch,
    ) -> Result<Result<Option<Box<ModelCall>>, String>, Stop> {
        let before = std::mem::replace(batch, self.session.new_batch());
        self.blobs.put_blobs(&self.session).await;
        self.append(before).await?;
        let mut made = self.history.model_call(&self.session, task).await;
        if let Ok(Some(call)) = &mut made {
            call.request.idempotency_key = Some(self.session.call_key(step));
        }
        Ok(made.map(|made| made.map(Box::new)))
    }
}

impl BlobQueue {
    pub(crate) fn keep_request(
        &mut self,
        session: &HostedSession,
        provider: &dyn Provider,
        request: &ModelRequest,
    ) -> Option<BlobRef> {
        request.keep_raw.then(|| self.keep(session, provider.body(request).to_vec(), JSON)).flatten()
    }
}

impl SessionHistory {
    /// The request as the state stands now; none if the task or its model is gone. Err says why the agent's own way
    /// of putting the conversation together failed.
    pub(crate) async fn model_call(
        &mut self,
        session: &HostedSession,
        task: &TaskId,
    ) -> Result<Option<ModelCall>, String> {
        let Some(persona) = session.persona(task) else { return Ok(None) };
        let Some((_, view)) = session.view.task(task) else { return Ok(None) };
        let Some((provider, model)) = persona.model(&session.registry, view.model) else { return Ok(None) };
        let provider = provider.clone();
        let steps = view.steps;
        let idempotency_key = view.step.as_ref().map(|step| session.call_key(step));
        let spoken = persona.settings.dialect.as_deref().filter(|dialect| provider.speaks() == Some(dialect));
        let verbatim = persona.settings.verbatim.as_ref().filter(|_| persona.is_gateway && steps == 0);
        let mut history = match (spoken, verbatim) {
            (Some(dialect), Some(_)) => {
                let registry = session.registry.clone();
                let reader = Reader { provider: provider.name(), dialect, registry: &registry };
                self.history_before_request(session, task, &reader).await
            }
            (None, _) | (_, None) => self.history(session, task, provider.name()).await?,
        };
        self.show_files(session, task, provider.speaks(), &mut history).await;
        session.attach(&mut history).await;
        let settings = &persona.settings;
        let dialect = settings.dialect.as_deref();
        let is_spoken = dialect.is_none() || dialect == provider.speaks();
        let request = ModelRequest {
            model,
            instructions: persona.instructions(),
            history,
            tools: persona.tools(&session.registry),
            tool_choice: if steps == 0 { persona.tool_choice() } else { Default::default() },
            parallel_tool_calls: settings.parallel_tool_calls,
            output_schema: persona.output_schema().cloned(),
            max_output_tokens: settings.max_output_tokens.or(persona.spec.max_output_tokens),
            temperature: settings.temperature.or(persona.spec.temperature),
            top_p: settings.top_p,
            stop: settings.stop.clone(),
            reasoning_effort: settings.reasoning_effort.clone().or(persona.spec.reasoning_effort.clone()),
            extra: if is_spoken { settings.extra.clone() } else { Default::default() },
            // What came since the caller's request has not.
            verbatim: settings.verbatim.clone().filter(|_| is_spoken && persona.is_gateway && steps == 0),
            keep_raw: persona.spec.keep_raw,
            keep_events: session.records_events(task),
            idempotency_key,
        };
        Ok(Some(ModelCall { provider, request }))
    }
}

/// Which model answers. Where there is a choice, also what it was made for and from.
fn write_routing(batch: &mut EventBatch, scope: &EventScope, persona: &ResolvedAgent) {
    let models = &persona.spec.models;
    let has_choice = models.len() > 1;
    if has_choice {
        batch.push(EventType::TaskProfileResolved, scope, &profile(persona));
        batch.push(EventType::RoutingCandidatesResolved, scope, &candidates(models));
    }
    let (selected_provider, selected_model) = split(models.first());
    let decision = RoutingDecision {
        decision_source: Some("agent".to_owned()),
        selected_provider,
        selected_model,
        candidate_count: u32::try_from(models.len()).ok(),
        fallback_chain: has_choice.then(|| models.clone()),
        ..RoutingDecision::default()
    };
    let kind = if has_choice { EventType::RoutingDecided } else { EventType::RoutingSingleCandidate };
    batch.push(kind, scope, &decision);
}

fn profile(persona: &ResolvedAgent) -> TaskProfile {
    let mut needs = Vec::new();
    if persona.has_tools() {
        needs.push("tool_use".to_owned());
    }
    if persona.output_schema().is_some() {
        needs.push("structured_output".to_owned());
    }
    TaskProfile {
        kind: Some(if persona.is_gateway { "completion" } else { "agent" }.to_owned()),
        source: Some("agent".to_owned()),
        required_capabilities: Some(needs),
        fallback_policy: Some("next_in_list".to_owned()),
        settings_source: Some(persona.spec.name.clone()),
        ..TaskProfile::default()
    }
}

fn candidates(models: &[String]) -> CandidateModels {
    let candidate = |name: &String| {
        let (provider, model) = split(Some(name));
        RawJson::of(&serde_json::json!({"provider": provider, "model": model})).ok()
    };
    CandidateModels {
        candidate_count: u32::try_from(models.len()).ok(),
        candidates: Some(models.iter().filter_map(candidate).collect()),
        single_candidate: Some(false),
        ..CandidateModels::default()
    }
}
