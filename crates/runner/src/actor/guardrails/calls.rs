//! Guardrails of calls that somebody will be asked about.

use riverrun_event::TaskId;
use riverrun_tool::{ToolDefinition, ToolErrorKind};
use serde_json::Value;

use crate::actor::Actor;
use crate::actor::approvals::Approvals;
use crate::actor::effects::Effects;
use crate::actor::session::HostedSession;
use crate::agent::{Approval, AskedCall};
use crate::approve::{Verdict, judge};
use crate::drive::{CallCheck, EffectKey, Launch, Tripped};
use crate::event_batch::EventBatch;
use crate::resolved_agent::{ResolvedAgent, Tooling};
use crate::view::CallView;

impl Actor {
    /// Nobody is asked about a call that a guardrail refuses. One that needs no person is checked when it runs.
    pub(crate) fn must_vet(
        &self,
        task: &TaskId,
        call: &str,
        persona: &ResolvedAgent,
        tooling: &Tooling<'_>,
        value: &Value,
    ) -> bool {
        if persona.spec.guardrails.is_empty()
            || self.guardrails.vetted.contains(&(task.clone(), call.to_owned()))
        {
            return false;
        }
        match tooling {
            Tooling::Ours(ours) => {
                let fits = crate::schema::check(&ours.tool.definition().parameters, value).is_ok();
                let verdict = self.approvals.verdict(
                    &self.session,
                    task,
                    call,
                    ours.tool.definition(),
                    &ours.approval,
                    value,
                );
                fits && matches!(verdict, Some(Verdict::Ask { .. }))
            }
            Tooling::Client { .. } => true,
            Tooling::Subagent(_) | Tooling::Handoff(_) => false,
        }
    }

    /// The guardrails have spoken: the call goes on, or the model reads why it does not.
    pub(crate) fn vetted(
        &mut self,
        task: TaskId,
        call: String,
        passed: Result<(), Tripped>,
        batch: &mut EventBatch,
    ) {
        match passed {
            Ok(()) => drop(self.guardrails.vetted.insert((task, call))),
            Err(tripped) => {
                let message = tripped.refusal("the call");
                self.refuse_call(&task, &call, ToolErrorKind::Denied, &message, batch);
            }
        }
    }
}

impl Approvals {
    /// What the policy says of the call, and where it allows what a hook says: ask beats allow.
    pub(crate) fn verdict(
        &self,
        session: &HostedSession,
        task: &TaskId,
        call: &str,
        definition: &ToolDefinition,
        approval: &Approval,
        value: &Value,
    ) -> Option<Verdict> {
        let (turn, view) = session.view.task(task)?;
        let asked = AskedCall {
            session: session.key.session.as_str(),
            turn: turn.turn.as_str(),
            task: task.as_str(),
            agent: &view.agent,
            call_id: call,
            tool: &definition.name,
            arguments: value,
        };
        let verdict = judge(&asked, definition, approval, &self.rules);
        let asking = view.call(call).and_then(CallView::asking);
        Some(match (verdict, asking) {
            (Verdict::Allow { .. }, Some((hook, answer))) => {
                let reason = answer.reason.clone().unwrap_or_else(|| "it gave no reason".to_owned());
                Verdict::Ask { source: "hook", reason: format!("Hook `{}` asks: {reason}", hook.name) }
            }
            (verdict, _) => verdict,
        })
    }
}

impl Effects {
    pub(crate) fn vet(
        &mut self,
        task: &TaskId,
        call: &str,
        persona: &ResolvedAgent,
        name: String,
        arguments: Value,
    ) {
        let check = CallCheck { guardrails: persona.spec.guardrails.clone(), name, arguments };
        let key = EffectKey::Vet(task.clone(), call.to_owned());
        self.launch_later(key, Launch::Vet(check));
    }
}
