//! Questions to people: may this run, and what does your tool say?

use std::time::Duration;

use riverrun_event::{
    ActionId, ActionRequired, ActionResolved, EventType, Part, RawJson, Scope, TaskId, ToolCancelled,
    ToolResult,
};
use riverrun_tool::{ToolDefinition, ToolErrorKind};
use serde_json::Value;

use super::Actor;
use super::money::later;
use super::result::Outcome;
use super::tools::REJECTED;
use crate::approve::{digest, named};
use crate::page::Page;

impl Actor {
    /// Somebody must agree before this runs.
    pub(super) fn ask_person(
        &mut self,
        task: &TaskId,
        call: &str,
        definition: &ToolDefinition,
        value: &Value,
        reason: &str,
        page: &mut Page,
    ) {
        let required = ActionRequired {
            action_type: "tool_permission".to_owned(),
            prompt: Some(format!("May `{}` run? {}", definition.name, reason)),
            digest: Some(digest(definition, value)),
            decisions: Some(["approve", "edit", "reject", "respond"].map(str::to_owned).to_vec()),
            schema: RawJson::of(&definition.parameters).ok(),
            arguments: RawJson::of(value).ok(),
            runs: definition.runs.shown().and_then(|runs| RawJson::of(runs).ok()),
            ..ActionRequired::default()
        };
        self.require(task, call, required, page);
    }

    /// The caller runs the tool and tells what came of it.
    pub(super) fn ask_client(
        &mut self,
        task: &TaskId,
        call: &str,
        schema: &Value,
        value: &Value,
        page: &mut Page,
    ) {
        let Some(name) =
            self.view.task(task).and_then(|(_, view)| view.call(call)).map(|call| call.name.clone())
        else {
            return;
        };
        let required = ActionRequired {
            action_type: "client_tool".to_owned(),
            prompt: Some(format!("Run `{name}` and answer with its result.")),
            digest: Some(named("client", &name, schema, Some(value))),
            decisions: Some(["respond", "reject"].map(str::to_owned).to_vec()),
            arguments: RawJson::of(value).ok(),
            ..ActionRequired::default()
        };
        self.require(task, call, required, page);
    }

    fn require(&mut self, task: &TaskId, call: &str, required: ActionRequired, page: &mut Page) {
        let timeout =
            self.persona(task).map_or(Duration::from_secs(300), |persona| persona.spec.limits.action_timeout);
        let action_id = ActionId::from_bytes(self.core.fresh());
        let Some((_, view)) = self.view.task(task) else { return };
        let Some(known) = view.call(call) else { return };
        let required = ActionRequired {
            tool_name: Some(known.name.clone()),
            timeout_seconds: Some(timeout.as_secs()),
            expires_at: Some(later(page.now, timeout)),
            batch_id: known.step.as_ref().map(ToString::to_string),
            ..required
        };
        let scope = Scope { action_id: Some(action_id), ..view.call_scope(known) };
        page.push(EventType::ActionRequired, &scope, &required);
    }

    /// Nobody decided in time, which is a no.
    pub(super) fn expire(&mut self, action: &ActionId, page: &mut Page) {
        let Some(scope) = self.action_scope(action) else { return };
        let resolved = ActionResolved {
            decision: "reject".to_owned(),
            source: Some("timeout".to_owned()),
            message: Some("Nobody decided in time.".to_owned()),
            ..ActionResolved::default()
        };
        page.push(EventType::ActionResolved, &scope, &resolved);
    }

    /// The links of an action of a running turn.
    pub(super) fn action_scope(&self, action: &ActionId) -> Option<Scope> {
        let tasks = self.view.turns.values().flat_map(|turn| &turn.tasks);
        tasks.into_iter().find_map(|task| {
            let is_it = |known: &&crate::view::CallView| {
                known.action.as_ref().is_some_and(|known| known.action == *action)
            };
            let call = task.calls.iter().find(is_it)?;
            Some(Scope { action_id: Some(action.clone()), ..task.call_scope(call) })
        })
    }

    /// A decision that is not to run the tool: the model reads it instead of a result.
    pub(super) fn decided(&mut self, task: &TaskId, call: &str, page: &mut Page) {
        let Some((_, view)) = self.view.task(task) else { return };
        let Some(known) = view.call(call) else { return };
        let Some(resolved) = known.action.as_ref().and_then(|action| action.resolved.clone()) else { return };
        let (scope, name) = (view.call_scope(known), known.name.clone());
        if resolved.decision == "respond" {
            let content = answer(resolved.arguments.as_ref(), resolved.message.as_deref());
            let blocks = Some(content.clone());
            let outcome = Outcome { status: "completed", content, blocks, is_error: false };
            self.write_result(task, call, &outcome, page);
            let (tool_name, status) = (Some(name), Some("answered".to_owned()));
            return page.push(
                EventType::ToolResult,
                &scope,
                &ToolResult { tool_name, status, ..ToolResult::default() },
            );
        }
        let text = match (&resolved.message, resolved.source.as_deref()) {
            (Some(message), _) if !message.is_empty() => message.clone(),
            (_, _) => REJECTED.to_owned(),
        };
        self.write_result(task, call, &Outcome::error("failed", vec![Part::plain(text)]), page);
        let reason = resolved.source.or(Some(ToolErrorKind::Denied.as_str().to_owned()));
        page.push(EventType::ToolCancelled, &scope, &ToolCancelled { tool_name: Some(name), reason });
    }
}

/// What a person answered: parts as they are, a text as text, anything else as JSON.
fn answer(value: Option<&RawJson>, message: Option<&str>) -> Vec<Part> {
    let Some(value) = value else { return vec![Part::plain(message.unwrap_or_default())] };
    if let Some(text) = value.as_text() {
        return vec![Part::plain(text)];
    }
    match value.to::<Vec<Part>>() {
        Ok(parts) if !parts.is_empty() => parts,
        Ok(_) | Err(_) => vec![Part::plain(value.get())],
    }
}
