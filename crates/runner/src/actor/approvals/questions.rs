//! Questions to people: may this run, and what does your tool say?

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use riverrun_event::question::{may_run, run_and_answer};
use riverrun_event::{
    ActionId, ActionRequired, ActionResolved, EventScope, EventType, Part, PermissionDecision, RawJson,
    TaskChange, TaskId, ToolCancelled, ToolResult,
};
use riverrun_fold::Status;
use riverrun_tool::{ToolDefinition, ToolErrorKind};
use serde_json::Value;

use crate::actor::Actor;
use crate::actor::model::cost::later;
use crate::actor::session::HostedSession;
use crate::actor::tools::result::Outcome;
use crate::agent::Rejection;
use crate::approve::{digest, named};
use crate::event_batch::EventBatch;
use crate::view::{ActionView, CallView};

/// What the model reads when a person said no and gave no reason.
const REJECTED: &str = "Tool execution was not approved.";

/// A call that somebody must agree to, and why.
pub(crate) struct Question<'a> {
    pub definition: &'a ToolDefinition,
    pub value: &'a Value,
    pub source: &'a str,
    pub reason: &'a str,
}

impl HostedSession {
    /// Somebody must agree before this runs.
    pub(crate) fn ask_person(
        &self,
        task: &TaskId,
        call: &str,
        question: &Question<'_>,
        batch: &mut EventBatch,
    ) {
        let Question { definition, value, source, reason } = *question;
        let required = ActionRequired {
            action_type: "tool_permission".to_owned(),
            prompt: Some(format!("{} {reason}", may_run(&definition.name))),
            digest: Some(digest(definition, value)),
            decisions: Some(["approve", "edit", "reject", "respond"].map(str::to_owned).to_vec()),
            schema: RawJson::of(&definition.parameters).ok(),
            arguments: RawJson::of(value).ok(),
            runs: definition.runs.shown().and_then(|runs| RawJson::of(runs).ok()),
            ..ActionRequired::default()
        };
        let permission = PermissionDecision {
            decision: Some("ask".to_owned()),
            decision_source: Some(source.to_owned()),
            decision_reason: Some(reason.to_owned()),
            destructive: Some(definition.flags.destructive && !definition.flags.read_only),
            prompt: required.prompt.clone(),
            ..PermissionDecision::default()
        };
        self.require(task, call, required, Some(permission), batch);
    }

    /// The caller runs the tool and tells what came of it.
    pub(crate) fn ask_client(
        &self,
        task: &TaskId,
        call: &str,
        schema: &Value,
        value: &Value,
        batch: &mut EventBatch,
    ) {
        let Some(name) =
            self.view.task(task).and_then(|(_, view)| view.call(call)).map(|call| call.name.clone())
        else {
            return;
        };
        let required = ActionRequired {
            action_type: "client_tool".to_owned(),
            prompt: Some(run_and_answer(&name)),
            digest: Some(named("client", &name, schema, Some(value))),
            decisions: Some(["respond", "reject"].map(str::to_owned).to_vec()),
            arguments: RawJson::of(value).ok(),
            ..ActionRequired::default()
        };
        self.require(task, call, required, None, batch);
    }

    fn require(
        &self,
        task: &TaskId,
        call: &str,
        required: ActionRequired,
        permission: Option<PermissionDecision>,
        batch: &mut EventBatch,
    ) {
        let timeout =
            self.persona(task).map_or(Duration::from_secs(300), |persona| persona.spec.limits.action_timeout);
        let action_id = ActionId::from_bytes(self.shared.fresh());
        let Some((_, view)) = self.view.task(task) else { return };
        let Some(known) = view.call(call) else { return };
        let waits = view.calls.iter().any(|call| call.pending().is_some()) || is_waiting_in(batch, task);
        let required = ActionRequired {
            tool_name: Some(known.name.clone()),
            timeout_seconds: Some(timeout.as_secs()),
            expires_at: Some(later(batch.now, timeout)),
            batch_id: known.step.as_ref().map(ToString::to_string),
            ..required
        };
        if let Some(permission) = permission {
            let requested = PermissionDecision {
                tool_name: required.tool_name.clone(),
                approval_action_id: Some(action_id.to_string()),
                expires_at: required.expires_at.clone(),
                ..permission
            };
            batch.push(EventType::PermissionRequested, &view.call_scope(known), &requested);
        }
        let scope = EventScope { action_id: Some(action_id), ..view.call_scope(known) };
        batch.require(&scope, required);
        if !waits {
            let reason = Some(format!("`{}` waits for a decision", known.name));
            let status = Some(Status::WaitingPermission.as_str().to_owned());
            let waiting = TaskChange { status, reason, ..TaskChange::default() };
            batch.push(EventType::TaskWaiting, &view.scope, &waiting);
        }
    }

    /// The last open question of a task was answered: the task goes on, unless it is halted or about to end.
    pub(crate) fn write_resumed(&self, scope: &EventScope, batch: &mut EventBatch) {
        let Some((turn, view)) = scope.task_id.as_ref().and_then(|task| self.view.task(task)) else { return };
        let is_open =
            |call: &CallView| call.pending().is_some_and(|pending| !is_resolved_in(batch, &pending.action));
        let ends = turn.is_cancelling() || view.is_closing.is_some() || view.ended.is_some();
        if turn.ours && !ends && !turn.is_paused(view) && !view.calls.iter().any(is_open) {
            batch.push(EventType::TaskResumed, &view.scope, &TaskChange::default());
        }
    }

    /// Nobody decided in time, which is a no.
    pub(crate) fn expire(&self, action: &ActionId, batch: &mut EventBatch) {
        let Some(scope) = self.action_scope(action) else { return };
        self.resolve(&scope, &undecided(), batch);
        self.write_resumed(&scope, batch);
    }

    /// Writes what was decided, and for a permission whether it was given, by whom and why.
    pub(crate) fn resolve(&self, scope: &EventScope, resolved: &ActionResolved, batch: &mut EventBatch) {
        batch.push(EventType::ActionResolved, scope, resolved);
        let (Some(action), Some(task)) = (&scope.action_id, &scope.task_id) else { return };
        let Some((_, view)) = self.view.task(task) else { return };
        let is_it = |known: &&ActionView| known.action == *action;
        let call = view.calls.iter().find(|call| call.action.as_ref().filter(is_it).is_some());
        let Some(call) = call.filter(|call| call.action.as_ref().is_some_and(|known| known.is_permission))
        else {
            return;
        };
        let is_given = matches!(resolved.decision.as_str(), "approve" | "edit");
        let usual = match resolved.decision.as_str() {
            "approve" => "somebody agreed",
            "edit" => "somebody agreed, with other arguments",
            "respond" => "somebody answered in the tool's place",
            _ => "somebody did not agree, or nobody did in time",
        };
        let permission = PermissionDecision {
            tool_name: Some(call.name.clone()),
            decision: Some(if is_given { "allow" } else { "deny" }.to_owned()),
            decision_source: resolved.source.clone(),
            decision_reason: Some(resolved.message.clone().unwrap_or_else(|| usual.to_owned())),
            approval_action_id: Some(action.to_string()),
            ..PermissionDecision::default()
        };
        batch.push(EventType::PermissionResolved, &view.call_scope(call), &permission);
    }

    /// What the model reads of a call that was rejected without a word: the agent's formatter may say it better.
    pub(crate) fn rejection(&self, task: &TaskId, call: &str, source: &str) -> String {
        let found = self.view.task(task).and_then(|(_, view)| Some((view, view.call(call)?)));
        let formatter = self.persona(task).and_then(|persona| persona.spec.rejection.clone());
        let (Some((view, known)), Some(formatter)) = (found, formatter) else { return REJECTED.to_owned() };
        let (agent, tool) = (view.agent.as_str(), known.name.as_str());
        let rejection = Rejection { agent, call_id: call, tool, source, usual: REJECTED };
        // One that breaks down changes nothing of the decision.
        let words = catch_unwind(AssertUnwindSafe(|| formatter(&rejection))).unwrap_or_default();
        words.unwrap_or_else(|| REJECTED.to_owned())
    }

    /// The links of an action of a running turn.
    pub(crate) fn action_scope(&self, action: &ActionId) -> Option<EventScope> {
        let tasks = self.view.turns.values().flat_map(|turn| &turn.tasks);
        tasks.into_iter().find_map(|task| {
            let is_it = |known: &&crate::view::CallView| {
                known.action.as_ref().is_some_and(|known| known.action == *action)
            };
            let call = task.calls.iter().find(is_it)?;
            Some(EventScope { action_id: Some(action.clone()), ..task.call_scope(call) })
        })
    }
}

impl Actor {
    /// A decision that is not to run the tool: the model reads it instead of a result.
    pub(crate) fn decided(&mut self, task: &TaskId, call: &str, batch: &mut EventBatch) {
        let Some((_, view)) = self.session.view.task(task) else { return };
        let Some(known) = view.call(call) else { return };
        let Some(resolved) = known.action.as_ref().and_then(|action| action.resolved.clone()) else { return };
        let (scope, name) = (view.call_scope(known), known.name.clone());
        if resolved.decision == "respond" {
            let content = answer(resolved.arguments.as_ref(), resolved.message.as_deref());
            let blocks = Some(content.clone());
            let outcome = Outcome { status: "completed", content, blocks, is_error: false, references: None };
            self.write_result(task, call, &outcome, batch);
            let (tool_name, status) = (Some(name), Some("answered".to_owned()));
            return batch.push(
                EventType::ToolResult,
                &scope,
                &ToolResult { tool_name, status, ..ToolResult::default() },
            );
        }
        let source = resolved.source.as_deref().unwrap_or("person");
        let text = match resolved.message.as_deref() {
            Some(message) if !message.is_empty() => message.to_owned(),
            Some(_) | None => self.session.rejection(task, call, source),
        };
        self.write_result(task, call, &Outcome::error("failed", vec![Part::plain(text)]), batch);
        let reason = resolved.source.or(Some(ToolErrorKind::Denied.as_str().to_owned()));
        batch.push(EventType::ToolCancelled, &scope, &ToolCancelled { tool_name: Some(name), reason });
    }
}

/// True if the page says already that the task waits.
fn is_waiting_in(batch: &EventBatch, task: &TaskId) -> bool {
    let mut waiting = batch.events.iter().filter(|event| event.draft.kind == EventType::TaskWaiting);
    waiting.any(|event| event.scope.task_id.as_ref() == Some(task))
}

fn is_resolved_in(batch: &EventBatch, action: &ActionId) -> bool {
    let mut resolved = batch.events.iter().filter(|event| event.draft.kind == EventType::ActionResolved);
    resolved.any(|event| event.scope.action_id.as_ref() == Some(action))
}

/// The decision that stands where none was made in time.
pub(crate) fn undecided() -> ActionResolved {
    ActionResolved {
        decision: "reject".to_owned(),
        source: Some("timeout".to_owned()),
        message: Some("Nobody decided in time.".to_owned()),
        ..ActionResolved::default()
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
