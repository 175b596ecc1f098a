//! Tool calls that run: checked against what was decided, and begun.

use std::sync::Arc;

use riverrun_event::{ErrorInfo, EventType, Part, RawJson, TaskId};
use riverrun_log::seeded::{self, Bug};
use riverrun_tool::{Effect, ToolDefinition, ToolErrorKind, ToolRequest};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::actor::Actor;
use crate::actor::effects::Effects;
use crate::actor::processes::process_mark;
use crate::actor::session::HostedSession;
use crate::actor::tools::calls::approval_of;
use crate::actor::tools::result::Outcome;
use crate::agent::ToolUse;
use crate::approve::{Verdict, digest};
use crate::drive::{EffectKey, Launch, ToolRun};
use crate::event_batch::EventBatch;
use crate::resolved_agent::Tooling;
use crate::view::CallView;

impl Actor {
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

    pub(crate) fn start_call(
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
}

impl Effects {
    /// Lets the effect begin, once the fact that it does is durable.
    pub(crate) fn begin(
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
        let run = ToolRequest {
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
