//! Tool calls: may they run, and how they begin.

use riverrun_event::{BlobRef, EventScope, EventType, Item, Part, PermissionDecision, TaskId};
use riverrun_tool::{MAX_ARGUMENTS, ToolDefinition, ToolErrorKind};
use serde_json::Value;

use crate::actor::Actor;
use crate::actor::approvals::questions::Question;
use crate::actor::hooks::HookTexts;
use crate::actor::session::HostedSession;
use crate::actor::tools::result::Outcome;
use crate::agent::Approval;
use crate::approve::Verdict;
use crate::event_batch::EventBatch;
use crate::hook::HookPoint;
use crate::plan::is_excess;
use crate::resolved_agent::{ResolvedAgent, Tooling};
use crate::view::{TaskView, answers};

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
    pub(crate) fn call_parts(
        &self,
        session: &HostedSession,
        task: &TaskId,
        call: &str,
    ) -> Option<(ResolvedAgent, EventScope, String, String)> {
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
        scope: &EventScope,
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

impl TaskView {
    /// Handoffs of the newest step that were taken.
    pub(crate) fn has_handed_off(&self) -> bool {
        self.handoffs.iter().any(|step| Some(step) == self.step.as_ref())
    }
}
