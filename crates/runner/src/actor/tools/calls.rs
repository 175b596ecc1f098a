//! Tool calls: may they run, and how they begin.

use std::sync::Arc;

use riverrun_event::{BlobRef, ErrorInfo, EventType, Item, Part, PermissionDecision, RawJson, Scope, TaskId};
use riverrun_log::seeded::{self, Bug};
use riverrun_tool::{Call, Effect, MAX_ARGUMENTS, ToolDefinition, ToolErrorKind};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::actor::Actor;
use crate::actor::approvals::questions::Question;
use crate::actor::effects::Effects;
use crate::actor::hooks::HookTexts;
use crate::actor::processes::process_mark;
use crate::actor::session::HostedSession;
use crate::actor::tools::result::Outcome;
use crate::agent::{Approval, ToolUse};
use crate::approve::{Verdict, digest};
use crate::drive::{EffectKey, Launch, ToolRun};
use crate::event_batch::EventBatch;
use crate::hook::HookPoint;
use crate::plan::is_excess;
use crate::resolved_agent::{ResolvedAgent, Tooling};
use crate::view::{CallView, TaskView, answers};

/// Stands for arguments that are not in the store, and is no JSON: such a call never runs.
const LOST_INPUT: &str = "(what a hook put in their place is lost)";

impl HostedSession {
    /// The call as the model wrote it.
    pub(crate) fn arguments(&self, task: &TaskId, item: &str) -> Option<String> {
        let known = self.state.tasks.iter().find(|known| known.task_id == *task)?;
        let arguments = |known: &Item| match known {
            Item::ToolCall(call) if call.id == item => Some(call.arguments.clone()),
            _ => None,
        };
        // It is where its first event said, unless a retried turn went on behind what was there.
        let index =
            self.view.task(task).and_then(|(_, view)| view.calls.with_item(item)).map(|call| call.index);
        let there = index.and_then(|index| known.output.get(index as usize));
        there.and_then(arguments).or_else(|| known.output.iter().rev().find_map(arguments))
    }

    /// What the model reads of a call that its answer had too many; None for one that may run.
    fn excess(&self, task: &TaskId, call: &str, persona: &ResolvedAgent) -> Option<String> {
        let (_, view) = self.view.task(task)?;
        let known = view.call(call).filter(|known| is_excess(known, persona))?;
        let warning = view.excess.clone().filter(|_| known.step == view.step);
        let most = persona.spec.limits.calls;
        Some(
            warning.unwrap_or_else(|| {
                format!("At most {most} tool calls of one answer are run; this one was not.")
            }),
        )
    }
}

impl HookTexts {
    fn call_parts(
        &self,
        session: &HostedSession,
        task: &TaskId,
        call: &str,
    ) -> Option<(ResolvedAgent, Scope, String, String)> {
        let (_, view) = session.view.task(task)?;
        let known = view.call(call)?;
        let arguments =
            self.effective_arguments(session, task, call).unwrap_or_else(|| LOST_INPUT.to_owned());
        Some((session.persona(task)?, view.call_scope(known), known.name.clone(), arguments))
    }
}

impl Actor {
    /// Decides what becomes of a call that the model just wrote.
    pub(crate) fn judge(&mut self, task: &TaskId, call: &str, batch: &mut EventBatch) {
        let Some((persona, scope, name, arguments)) = self.hooks.call_parts(&self.session, task, call) else {
            return;
        };
        if let Some(message) = self.session.excess(task, call, &persona) {
            return self.refuse_call(task, call, ToolErrorKind::Denied, &message, batch);
        }
        let Some(tooling) = persona.tooling(&name) else {
            if let Some(problem) = persona.away(&name) {
                let message = format!("`{name}` is not there now: {problem}");
                return self.refuse_call(task, call, ToolErrorKind::Unavailable, &message, batch);
            }
            let known: Vec<String> =
                persona.tools(&self.session.registry).into_iter().map(|tool| tool.name).collect();
            let message = match known.is_empty() {
                true => format!("There is no tool `{name}`. This agent has no tools."),
                false => format!("There is no tool `{name}`. There are: {}.", known.join(", ")),
            };
            return self.refuse_call(task, call, ToolErrorKind::UnknownTool, &message, batch);
        };
        let value = match read(&name, &arguments) {
            Ok(value) => value,
            Err(message) => {
                return self.refuse_call(task, call, ToolErrorKind::BadArguments, &message, batch);
            }
        };
        if self.must_vet(task, call, &persona, &tooling, &value) {
            return self.effects.vet(task, call, &persona, name.clone(), value);
        }
        match &tooling {
            Tooling::Client { schema, .. } => self.judge_client(task, call, &name, schema, &value, batch),
            Tooling::Ours(_) | Tooling::Subagent(_) | Tooling::Handoff(_) => {
                self.judge_by_policy(task, call, &persona, &tooling, value, &scope, batch);
            }
        }
    }

    /// The caller is not asked to run what its own schema does not allow.
    fn judge_client(
        &mut self,
        task: &TaskId,
        call: &str,
        name: &str,
        schema: &Value,
        value: &Value,
        batch: &mut EventBatch,
    ) {
        // What is no schema here may be one for the caller, who looks at the arguments then.
        let is_schema = riverrun_tool::check_schema(schema).is_ok();
        let fits = if is_schema { crate::schema::check(schema, value) } else { Ok(()) };
        match fits {
            Ok(()) => self.session.ask_client(task, call, schema, value, batch),
            Err(problem) => {
                let message = format!("The arguments of `{name}` do not fit its schema: {problem}");
                self.refuse_call(task, call, ToolErrorKind::BadArguments, &message, batch);
            }
        }
    }

    /// A tool of the server's, or another agent: the policy is asked about either by the name that the model calls.
    #[allow(clippy::too_many_arguments, reason = "the parts of one call, taken apart by its only caller")]
    fn judge_by_policy(
        &mut self,
        task: &TaskId,
        call: &str,
        persona: &ResolvedAgent,
        tooling: &Tooling<'_>,
        value: Value,
        scope: &Scope,
        batch: &mut EventBatch,
    ) {
        let Some(name) =
            self.session.view.task(task).and_then(|(_, view)| Some(view.call(call)?.name.clone()))
        else {
            return;
        };
        let Some(definition) = tooling.definition(&name) else { return };
        // Models add members to what takes nothing; another agent reads the conversation and not them.
        let is_handoff = matches!(tooling, Tooling::Handoff(_));
        if let Err(problem) = crate::schema::check(&definition.parameters, &value)
            && !is_handoff
        {
            let message = format!("The arguments of `{name}` do not fit its schema: {problem}");
            return self.refuse_call(task, call, ToolErrorKind::BadArguments, &message, batch);
        }
        let approval = approval_of(persona, tooling, &name);
        let Some(verdict) = self.approvals.verdict(&self.session, task, call, &definition, &approval, &value)
        else {
            return;
        };
        // Nobody wonders whether an agent may call another one that no rule is about.
        let is_plain = !matches!(tooling, Tooling::Ours(_)) && matches!(approval, Approval::Never);
        if !is_plain || !matches!(verdict, Verdict::Allow { .. }) {
            let rewritten = self.session.view.task(task).and_then(|(_, view)| view.call(call)?.rewritten());
            let updated_input_ref = rewritten.map(|reference| BlobRef::Bare(reference.to_owned()));
            let known = self.session.view.task(task).and_then(|(_, view)| view.call(call));
            let rule_refs = known
                .map(|known| self.approvals.rule_refs(&self.session, task, known, tooling, verdict.source()));
            let permission =
                PermissionDecision { updated_input_ref, rule_refs, ..evaluated(&definition, &verdict) };
            batch.push(EventType::PermissionEvaluated, scope, &permission);
        }
        match &verdict {
            // A call that writes waits for its turn; one that only reads goes as soon as the session has room for it,
            // and another agent at once.
            Verdict::Allow { source, .. } => match tooling {
                Tooling::Ours(_)
                    if !definition.flags.read_only || self.effects.room(&self.session).tools == 0 => {}
                _ => self.start_call(task, call, tooling, value, source, batch),
            },
            Verdict::Ask { reason, source } => {
                let asked = Question { definition: &definition, value: &value, source, reason };
                self.session.ask_person(task, call, &asked, batch);
            }
            Verdict::Deny { source: "rule", .. } => {
                let message = self.session.rejection(task, call, "rule");
                self.refuse_call(task, call, ToolErrorKind::Denied, &message, batch);
            }
            Verdict::Deny { reason, .. } => {
                let message = format!("The policy does not let `{name}` run: {reason}");
                self.refuse_call(task, call, ToolErrorKind::Denied, &message, batch);
            }
        }
    }

    /// Runs a call that may run now: the policy or a rule allows it, or a person agreed to exactly this. Every call goes
    /// through here, also another attempt at one whose end nobody saw.
    pub(crate) fn run_call(&mut self, task: &TaskId, call: &str, batch: &mut EventBatch) {
        let Some((persona, _, name, arguments)) = self.hooks.call_parts(&self.session, task, call) else {
            return;
        };
        let found = persona.tooling(&name).and_then(|tooling| Some((tooling.definition(&name)?, tooling)));
        let Some((definition, tooling)) = found else {
            let message = format!("Tool `{name}` is not there any more.");
            return self.refuse_call(task, call, ToolErrorKind::UnknownTool, &message, batch);
        };
        let Some(known) = self.session.view.task(task).and_then(|(_, view)| view.call(call)) else { return };
        let is_asked = known.action.is_some();
        if is_asked && !known.is_approved() && !seeded::is_on(Bug::RunWithoutDecision) {
            let message = format!("Nobody approved this call of `{name}`; it was not run.");
            return self.refuse_call(task, call, ToolErrorKind::Denied, &message, batch);
        }
        let runs = what_runs(known, &definition, &arguments);
        let allowed_by = |value: &Value| {
            let approval = approval_of(&persona, &tooling, &name);
            match self.approvals.verdict(&self.session, task, call, &definition, &approval, value) {
                Some(Verdict::Allow { source, .. }) => Some(source),
                Some(Verdict::Ask { .. } | Verdict::Deny { .. }) | None => None,
            }
        };
        let value = match runs {
            Ok(value) => value,
            Err(message) => return self.refuse_call(task, call, ToolErrorKind::Denied, &message, batch),
        };
        // The policy or the tool may be another one than when it was allowed: a server may have gone in between.
        let source = if is_asked { Some("person") } else { allowed_by(&value) };
        match source {
            Some(source) => self.start_call(task, call, &tooling, value, source, batch),
            None => {
                let message = format!("Tool `{name}` is no longer what was allowed; it was not run.");
                self.refuse_call(task, call, ToolErrorKind::Denied, &message, batch);
            }
        }
    }

    fn start_call(
        &mut self,
        task: &TaskId,
        call: &str,
        tooling: &Tooling<'_>,
        value: Value,
        source: &str,
        batch: &mut EventBatch,
    ) {
        match tooling {
            Tooling::Ours(ours) => {
                self.write_started(task, call, tooling, &value, source, batch);
                self.effects.begin(&self.session, task, call, ours, value);
            }
            Tooling::Subagent(agent) => self.spawn(task, call, agent, tooling, &value, source, batch),
            Tooling::Handoff(agent) => self.hand_off(task, call, agent, batch),
            Tooling::Client { .. } => {}
        }
    }

    /// A former owner began the call and nobody saw its end.
    pub(crate) fn unknown_outcome(&mut self, task: &TaskId, call: &str, batch: &mut EventBatch) {
        self.processes.lost_process(&self.session, task, call, batch);
        let error = ErrorInfo {
            message: "the server stopped during the tool call".to_owned(),
            code: Some("interrupted".to_owned()),
            retryable: Some(true),
            ..ErrorInfo::default()
        };
        self.turns.new_attempt(&mut self.session, task, error, batch);
        let Some((persona, scope, name, _)) = self.hooks.call_parts(&self.session, task, call) else {
            return;
        };
        let effect = match persona.tooling(&name) {
            Some(Tooling::Ours(ours)) => ours.tool.definition().effect(),
            Some(Tooling::Client { .. } | Tooling::Subagent(_) | Tooling::Handoff(_)) | None => Effect::Once,
        };
        if effect == Effect::Repeatable {
            return self.run_call(task, call, batch);
        }
        let text = format!(
            "The server stopped while `{name}` ran. Whether it had its effect is not known; it was not run again. \
             Find out before you call it again."
        );
        self.write_result(task, call, &Outcome::error("failed", vec![Part::plain(text)]), batch);
        let reason = Some("the server stopped while the tool ran".to_owned());
        let unknown = riverrun_event::ToolOutcomeUnknown { tool_name: Some(name), reason };
        batch.push(EventType::ToolOutcomeUnknown, &scope, &unknown);
    }

    /// A hook is against the call.
    pub(crate) fn refuse_by_hook(&mut self, task: &TaskId, call: &str, batch: &mut EventBatch) {
        let Some((_, view)) = self.session.view.task(task) else { return };
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
        batch.push(EventType::PermissionEvaluated, &scope, &denied);
        self.refuse_call(task, call, ToolErrorKind::Denied, &message, batch);
    }

    /// The call does not run; the model reads why.
    pub(crate) fn refuse_call(
        &mut self,
        task: &TaskId,
        call: &str,
        kind: ToolErrorKind,
        message: &str,
        batch: &mut EventBatch,
    ) {
        let Some((_, view)) = self.session.view.task(task) else { return };
        let Some(known) = view.call(call) else { return };
        let (scope, name) = (view.call_scope(known), known.name.clone());
        self.write_result(task, call, &Outcome::error("failed", vec![Part::plain(message)]), batch);
        batch.push(EventType::ToolFailed, &scope, &self.session.failure(task, name, kind, message));
    }
}

impl Effects {
    /// Lets the effect begin, once the fact that it does is durable.
    fn begin(
        &mut self,
        session: &HostedSession,
        task: &TaskId,
        call: &str,
        ours: &ToolUse,
        arguments: Value,
    ) {
        let Some((turn, view)) = session.view.task(task) else { return };
        let mut idempotency_key = format!("{}/{}/{call}", session.key.session, turn.turn);
        if seeded::is_on(Bug::FreshToolKey) {
            idempotency_key.push_str(&session.state.sequence.to_string());
        }
        let run = Call {
            call_id: call.to_owned(),
            arguments,
            idempotency_key,
            mark: process_mark(&session.key.session, turn, task, call),
            session_id: session.key.session.to_string(),
            turn_id: turn.turn.to_string(),
            task_id: task.to_string(),
            agent: view.agent.clone(),
            cancel: CancellationToken::new(),
            progress: Arc::new(|_| {}),
            process: None,
            must_match: !seeded::is_on(Bug::StaleToolSchema),
        };
        let guardrails =
            session.persona(task).map(|persona| persona.spec.guardrails.clone()).unwrap_or_default();
        let run = ToolRun { tool: ours.tool.clone(), call: run, guardrails };
        self.launch_later(EffectKey::Tool(task.clone(), call.to_owned()), Launch::Tool(Box::new(run)));
    }
}

/// When a person must agree to what the name stands for.
pub(crate) fn approval_of(persona: &ResolvedAgent, tooling: &Tooling<'_>, name: &str) -> Approval {
    match tooling {
        Tooling::Ours(ours) => ours.approval.clone(),
        Tooling::Client { .. } | Tooling::Subagent(_) | Tooling::Handoff(_) => {
            persona.spec.agent_approvals.get(name).cloned().unwrap_or(Approval::Never)
        }
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

/// The arguments as a value; Err is what the model reads of those that are none.
fn read(name: &str, arguments: &str) -> Result<Value, String> {
    if arguments.len() > MAX_ARGUMENTS {
        let size = arguments.len();
        return Err(format!(
            "The arguments of `{name}` have {size} bytes; at most {MAX_ARGUMENTS} are taken. Say less at once."
        ));
    }
    let value = serde_json::from_str(arguments).map_err(|error| {
        format!("The arguments of `{name}` are not JSON: {error}. They were: {arguments}")
    })?;
    crate::exact::check(arguments)
        .map_err(|problem| format!("The arguments of `{name}` cannot be taken: {problem}."))?;
    Ok(value)
}

/// The arguments that may run, which a person may have put in place of the model's. What was decided upon must be what
/// runs.
fn what_runs(call: &CallView, definition: &ToolDefinition, written: &str) -> Result<Value, String> {
    let resolved = call.action.as_ref().and_then(|action| action.resolved.as_ref());
    let edited = call.edited();
    let text = edited.map_or(written, RawJson::get);
    let value: Value =
        serde_json::from_str(text).map_err(|error| format!("The arguments are not JSON: {error}"))?;
    let Some(action) = &call.action else { return Ok(value) };
    let decided = match edited {
        Some(_) => resolved.and_then(|resolved| resolved.digest.as_ref()),
        None => action.digest.as_ref(),
    };
    // A decision that names another digest is about something else.
    let names_it = edited.is_some()
        || resolved.and_then(|resolved| resolved.digest.as_ref()).is_none_or(|named| Some(named) == decided);
    let is_it = names_it && decided == Some(&digest(definition, &value));
    if !is_it && !seeded::is_on(Bug::StaleToolSchema) {
        return Err(format!("Tool `{}` is no longer what was approved; it was not run.", call.name));
    }
    Ok(value)
}

impl TaskView {
    /// Handoffs of the newest step that were taken.
    pub(crate) fn has_handed_off(&self) -> bool {
        self.handoffs.iter().any(|step| Some(step) == self.step.as_ref())
    }
}
