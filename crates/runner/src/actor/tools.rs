//! Tool calls: may they run, and how they begin.

use std::sync::Arc;

use riverrun_event::{
    BlobRef, ErrorInfo, EventType, Item, Part, PermissionDecision, RawJson, Scope, TaskId, ToolFailed,
    ToolStarted, preview,
};
use riverrun_tool::{Call, Effect, MAX_ARGUMENTS, ToolDefinition, ToolErrorKind};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::Actor;
use super::hook::INLINE;
use super::process::process_mark;
use super::result::Outcome;
use crate::agent::ToolUse;
use crate::approve::{Verdict, digest};
use crate::drive::{EffectKey, Launch, ToolRun};
use crate::hook::HookPoint;
use crate::page::Page;
use crate::persona::{Persona, Tooling, subagent_schema};
use crate::view::{CallView, TaskView, answers};

/// What the model reads when a person said no and gave no reason.
pub(super) const REJECTED: &str = "Tool execution was not approved.";

/// Stands for arguments that are not in the store, and is no JSON: such a call never runs.
const LOST_INPUT: &str = "(what a hook put in their place is lost)";

impl Actor {
    /// The call as the model wrote it.
    pub(super) fn arguments(&self, task: &TaskId, item: &str) -> Option<String> {
        let known = self.state.tasks.iter().find(|known| known.task_id == *task)?;
        known.output.iter().rev().find_map(|known| match known {
            Item::ToolCall(call) if call.id == item => Some(call.arguments.clone()),
            _ => None,
        })
    }

    fn call_parts(&self, task: &TaskId, call: &str) -> Option<(Persona, Scope, String, String)> {
        let (_, view) = self.view.task(task)?;
        let known = view.call(call)?;
        let arguments = self.effective_arguments(task, call).unwrap_or_else(|| LOST_INPUT.to_owned());
        Some((self.persona(task)?, view.call_scope(known), known.name.clone(), arguments))
    }

    /// Decides what becomes of a call that the model just wrote.
    pub(super) fn judge(&mut self, task: &TaskId, call: &str, page: &mut Page) {
        let Some((persona, scope, name, arguments)) = self.call_parts(task, call) else { return };
        let Some(tooling) = persona.tooling(&name) else {
            if let Some(problem) = persona.away(&name) {
                let message = format!("`{name}` is not there now: {problem}");
                return self.refuse_call(task, call, ToolErrorKind::Unavailable, &message, page);
            }
            let known: Vec<String> =
                persona.tools(&self.core.registry).into_iter().map(|tool| tool.name).collect();
            let message = format!("There is no tool `{name}`. There are: {}.", known.join(", "));
            return self.refuse_call(task, call, ToolErrorKind::UnknownTool, &message, page);
        };
        if arguments.len() > MAX_ARGUMENTS {
            let size = arguments.len();
            let message = format!(
                "The arguments of `{name}` have {size} bytes; at most {MAX_ARGUMENTS} are taken. Say less at once."
            );
            return self.refuse_call(task, call, ToolErrorKind::BadArguments, &message, page);
        }
        let value: Value = match serde_json::from_str(&arguments) {
            Ok(value) => value,
            Err(error) => {
                let message =
                    format!("The arguments of `{name}` are not JSON: {error}. They were: {arguments}");
                return self.refuse_call(task, call, ToolErrorKind::BadArguments, &message, page);
            }
        };
        if self.must_vet(task, call, &persona, &tooling, &value) {
            return self.vet(task, call, &persona, name.clone(), value);
        }
        match tooling {
            Tooling::Ours(ours) => self.judge_ours(task, call, ours, &value, &scope, page),
            Tooling::Client { schema, .. } => self.ask_client(task, call, &schema, &value, page),
            Tooling::Subagent(_) | Tooling::Handoff(_) if persona.spec.denied.contains_key(&name) => {
                self.deny_agent(task, call, &persona, &name, &scope, page)
            }
            Tooling::Subagent(agent) => match crate::schema::check(&subagent_schema(), &value) {
                Ok(()) => self.spawn(task, call, agent, &value, page),
                Err(problem) => {
                    let message = format!("The arguments of `{name}` do not fit its schema: {problem}");
                    self.refuse_call(task, call, ToolErrorKind::BadArguments, &message, page);
                }
            },
            Tooling::Handoff(agent) => self.hand_off(task, call, agent, page),
        }
    }

    /// The policy is against another agent as it may be against a tool.
    fn deny_agent(
        &mut self,
        task: &TaskId,
        call: &str,
        persona: &Persona,
        name: &str,
        scope: &Scope,
        page: &mut Page,
    ) {
        let Some(reason) = persona.spec.denied.get(name) else { return };
        let denied = PermissionDecision {
            tool_name: Some(name.to_owned()),
            decision: Some("deny".to_owned()),
            decision_source: Some("policy".to_owned()),
            decision_reason: Some(reason.clone()),
            ..PermissionDecision::default()
        };
        page.push(EventType::PermissionEvaluated, scope, &denied);
        let message = format!("The policy does not let `{name}` run: {reason}");
        self.refuse_call(task, call, ToolErrorKind::Denied, &message, page);
    }

    fn judge_ours(
        &mut self,
        task: &TaskId,
        call: &str,
        ours: &ToolUse,
        value: &Value,
        scope: &Scope,
        page: &mut Page,
    ) {
        let definition = ours.tool.definition();
        if let Err(problem) = crate::schema::check(&definition.parameters, value) {
            let message = format!("The arguments of `{}` do not fit its schema: {problem}", definition.name);
            return self.refuse_call(task, call, ToolErrorKind::BadArguments, &message, page);
        }
        let Some(verdict) = self.verdict(task, call, ours, value) else { return };
        let rewritten = self.view.task(task).and_then(|(_, view)| view.call(call)?.rewritten());
        let updated_input_ref = rewritten.map(|reference| BlobRef::Bare(reference.to_owned()));
        let told = PermissionDecision { updated_input_ref, ..evaluated(definition, &verdict) };
        page.push(EventType::PermissionEvaluated, scope, &told);
        match &verdict {
            // A call that writes waits for its turn; one that only reads goes at once.
            Verdict::Allow { .. } if definition.flags.read_only => {
                self.begin(task, call, ours, value.clone(), None, page)
            }
            Verdict::Allow { .. } => {}
            Verdict::Ask { reason, .. } => self.ask_person(task, call, definition, value, reason, page),
            Verdict::Deny { source: "rule", .. } => {
                self.refuse_call(task, call, ToolErrorKind::Denied, REJECTED, page)
            }
            Verdict::Deny { reason, .. } => {
                let message = format!("The policy does not let `{}` run: {reason}", definition.name);
                self.refuse_call(task, call, ToolErrorKind::Denied, &message, page);
            }
        }
    }

    /// Runs a call that may run: the policy allowed it, or a person did.
    pub(super) fn run_call(&mut self, task: &TaskId, call: &str, page: &mut Page) {
        let Some((persona, _, name, arguments)) = self.call_parts(task, call) else { return };
        let Some(Tooling::Ours(ours)) = persona.tooling(&name) else {
            let message = format!("Tool `{name}` is not there any more.");
            return self.refuse_call(task, call, ToolErrorKind::UnknownTool, &message, page);
        };
        let Some(known) = self.view.task(task).and_then(|(_, view)| view.call(call)) else { return };
        match what_runs(known, ours, &arguments) {
            // The policy or the tool may be another one than when it was allowed: a server may have gone in between.
            Ok((value, None)) if known.action.is_none() && !self.is_allowed(task, call, ours, &value) => {
                let message = format!("Tool `{name}` is no longer what was allowed; it was not run.");
                self.refuse_call(task, call, ToolErrorKind::Denied, &message, page);
            }
            Ok((value, edited)) => self.begin(task, call, ours, value, edited, page),
            Err(message) => self.refuse_call(task, call, ToolErrorKind::Denied, &message, page),
        }
    }

    fn is_allowed(&self, task: &TaskId, call: &str, ours: &ToolUse, value: &Value) -> bool {
        matches!(self.verdict(task, call, ours, value), Some(Verdict::Allow { .. }))
    }

    /// Writes down that the effect begins, then lets it begin.
    fn begin(
        &mut self,
        task: &TaskId,
        call: &str,
        ours: &ToolUse,
        arguments: Value,
        edited: Option<RawJson>,
        page: &mut Page,
    ) {
        let Some((turn, view)) = self.view.task(task) else { return };
        let Some(known) = view.call(call) else { return };
        let started = match edited {
            Some(_) => {
                ToolStarted { tool_name: known.name.clone(), safe_args: edited, ..ToolStarted::default() }
            }
            None => started(known, &arguments),
        };
        page.push(EventType::ToolStarted, &view.call_scope(known), &started);
        let run = Call {
            call_id: call.to_owned(),
            arguments,
            idempotency_key: format!("{}/{}/{call}", self.key.session, turn.turn),
            mark: process_mark(turn, task, call),
            session_id: self.key.session.to_string(),
            turn_id: turn.turn.to_string(),
            task_id: task.to_string(),
            agent: view.agent.clone(),
            cancel: CancellationToken::new(),
            progress: Arc::new(|_| {}),
            process: None,
        };
        let guardrails =
            self.persona(task).map(|persona| persona.spec.guardrails.clone()).unwrap_or_default();
        let run = ToolRun { tool: ours.tool.clone(), call: run, guardrails };
        self.launches.push((EffectKey::Tool(task.clone(), call.to_owned()), Launch::Tool(Box::new(run))));
    }

    /// A former owner began the call and nobody saw its end.
    pub(super) fn unknown_outcome(&mut self, task: &TaskId, call: &str, page: &mut Page) {
        self.lost_process(task, call, page);
        let error = ErrorInfo {
            message: "the server stopped during the tool call".to_owned(),
            code: Some("interrupted".to_owned()),
            retryable: Some(true),
            ..ErrorInfo::default()
        };
        self.new_attempt(task, error, page);
        let Some((persona, scope, name, _)) = self.call_parts(task, call) else { return };
        let effect = match persona.tooling(&name) {
            Some(Tooling::Ours(ours)) => ours.tool.definition().effect(),
            Some(Tooling::Client { .. } | Tooling::Subagent(_) | Tooling::Handoff(_)) | None => Effect::Once,
        };
        if effect == Effect::Repeatable {
            return self.run_call(task, call, page);
        }
        let text = format!(
            "The server stopped while `{name}` ran. Whether it had its effect is not known; it was not run again. \
             Find out before you call it again."
        );
        self.write_result(task, call, &Outcome::error("failed", vec![Part::plain(text)]), page);
        let reason = Some("the server stopped while the tool ran".to_owned());
        let unknown = riverrun_event::ToolOutcomeUnknown { tool_name: Some(name), reason };
        page.push(EventType::ToolOutcomeUnknown, &scope, &unknown);
    }

    /// A hook is against the call.
    pub(super) fn refuse_by_hook(&mut self, task: &TaskId, call: &str, page: &mut Page) {
        let Some((_, view)) = self.view.task(task) else { return };
        let Some(known) = view.call(call) else { return };
        let refusal = answers(&known.hooks, HookPoint::PreToolUse).find(|(_, answer)| answer.is_refusal());
        let Some((hook, answer)) = refusal else { return };
        let (scope, message) = (view.call_scope(known), hook.refusal("the call"));
        let denied = PermissionDecision {
            tool_name: Some(known.name.clone()),
            decision: Some("deny".to_owned()),
            decision_source: Some("hook".to_owned()),
            decision_reason: answer.reason.clone(),
            ..PermissionDecision::default()
        };
        page.push(EventType::PermissionEvaluated, &scope, &denied);
        self.refuse_call(task, call, ToolErrorKind::Denied, &message, page);
    }

    /// The call does not run; the model reads why.
    pub(super) fn refuse_call(
        &mut self,
        task: &TaskId,
        call: &str,
        kind: ToolErrorKind,
        message: &str,
        page: &mut Page,
    ) {
        let Some((_, view)) = self.view.task(task) else { return };
        let Some(known) = view.call(call) else { return };
        let (scope, name) = (view.call_scope(known), known.name.clone());
        self.write_result(task, call, &Outcome::error("failed", vec![Part::plain(message)]), page);
        page.push(EventType::ToolFailed, &scope, &failed(name, kind, message));
    }
}

/// The beginning of a call. Where a hook changed its arguments, these are told.
pub(super) fn started(call: &CallView, arguments: &Value) -> ToolStarted {
    let plain = ToolStarted { tool_name: call.name.clone(), ..ToolStarted::default() };
    let Some(rewritten) = call.rewritten() else { return plain };
    let text = arguments.to_string();
    let is_short = text.len() <= INLINE;
    ToolStarted {
        safe_args: is_short.then(|| RawJson::of(arguments).ok()).flatten(),
        preview: (!is_short).then(|| preview(&text).to_owned()),
        input_ref: Some(BlobRef::Bare(rewritten.to_owned())),
        ..plain
    }
}

fn evaluated(definition: &ToolDefinition, verdict: &Verdict) -> PermissionDecision {
    let (decision, source, reason) = match verdict {
        Verdict::Allow { source, reason } => ("allow", source, reason),
        Verdict::Ask { source, reason } => ("ask", source, reason),
        Verdict::Deny { source, reason } => ("deny", source, reason),
    };
    PermissionDecision {
        tool_name: Some(definition.name.clone()),
        decision: Some(decision.to_owned()),
        decision_source: Some((*source).to_owned()),
        decision_reason: Some(reason.clone()),
        destructive: Some(definition.flags.destructive && !definition.flags.read_only),
        ..PermissionDecision::default()
    }
}

pub(super) fn failed(name: String, kind: ToolErrorKind, message: &str) -> ToolFailed {
    ToolFailed {
        error: ErrorInfo {
            message: message.to_owned(),
            code: Some(kind.as_str().to_owned()),
            category: Some("tool".to_owned()),
            ..ErrorInfo::default()
        },
        tool_name: Some(name),
        output_ref: None,
        duration_ms: None,
    }
}

/// The arguments that may run, and those that a person put in their place. What was decided upon must be what runs.
fn what_runs(call: &CallView, ours: &ToolUse, written: &str) -> Result<(Value, Option<RawJson>), String> {
    let resolved = call.action.as_ref().and_then(|action| action.resolved.as_ref());
    let edited = resolved
        .filter(|resolved| resolved.decision == "edit")
        .and_then(|resolved| resolved.arguments.clone());
    let text = edited.as_ref().map_or(written, |edited| edited.get());
    let value: Value =
        serde_json::from_str(text).map_err(|error| format!("The arguments are not JSON: {error}"))?;
    let Some(action) = &call.action else { return Ok((value, edited)) };
    let decided = match &edited {
        Some(_) => resolved.and_then(|resolved| resolved.digest.as_ref()),
        None => action.digest.as_ref(),
    };
    if decided != Some(&digest(ours.tool.definition(), &value)) {
        return Err(format!("Tool `{}` is no longer what was approved; it was not run.", call.name));
    }
    Ok((value, edited))
}

impl TaskView {
    /// Handoffs of the newest step that were taken.
    pub(super) fn has_handed_off(&self) -> bool {
        self.handoffs.iter().any(|step| Some(step) == self.step.as_ref())
    }
}
