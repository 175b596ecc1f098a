//! What a hook is asked: the facts of the log, and nothing of the server's.

use riverrun_event::{EventScope, Input, Part, TaskId};
use serde_json::Value;

use crate::actor::hooks::HookTexts;
use crate::actor::hooks::hooks_at;
use crate::actor::session::HostedSession;
use crate::drive::HookTarget;
use crate::hook::{HookInput, HookPoint};
use crate::view::answers;

impl HostedSession {
    /// The links of a hook's events, and the point.
    pub(crate) fn hook_target_scope(
        &self,
        task: &TaskId,
        target: &HookTarget,
    ) -> Option<(EventScope, HookPoint)> {
        let (_, view) = self.view.task(task)?;
        Some(match target {
            HookTarget::Prompt => (view.scope.clone(), HookPoint::UserPromptSubmit),
            HookTarget::Stop => (view.step_scope(), HookPoint::Stop),
            HookTarget::Before(call) => (view.call_scope(view.call(call)?), HookPoint::PreToolUse),
            HookTarget::After(call) => {
                let call = view.call(call)?;
                (view.call_scope(call), call.after())
            }
        })
    }

    pub(crate) fn call_name(&self, task: &TaskId, target: &HookTarget) -> Option<String> {
        let (HookTarget::Before(call) | HookTarget::After(call)) = target else { return None };
        Some(self.view.task(task)?.1.call(call)?.name.clone())
    }

    /// What the turn is asked, as hooks before left it.
    pub(crate) fn prompt(&self, task: &TaskId) -> Option<Input> {
        let (turn, _) = self.view.task(task)?;
        self.state.turns.iter().find(|known| known.turn_id == turn.turn)?.input.clone()
    }
}

impl HookTexts {
    /// None if what it is to be asked about is not there or is not JSON.
    pub(crate) fn hook_input(
        &self,
        session: &HostedSession,
        task: &TaskId,
        target: &HookTarget,
        point: HookPoint,
        name: &str,
    ) -> Option<HookInput> {
        let (turn, view) = session.view.task(task)?;
        let asked = HookInput {
            hook: name.to_owned(),
            point,
            session_id: session.key.session.to_string(),
            thread_id: turn.thread.to_string(),
            turn_id: turn.turn.to_string(),
            task_id: task.to_string(),
            agent: view.agent.clone(),
            idempotency_key: String::new(),
            input: None,
            tool_name: None,
            tool_call_id: None,
            arguments: None,
            output: None,
            final_output: None,
            stops: None,
        };
        let key = |part: &str| format!("{}/{}/{part}/{name}", asked.session_id, asked.turn_id);
        Some(match target {
            HookTarget::Prompt => {
                HookInput { idempotency_key: key("input"), input: session.prompt(task), ..asked }
            }
            HookTarget::Stop => {
                let step = view.step.as_ref().map(ToString::to_string).unwrap_or_default();
                let (final_output, stops) = (session.final_text(task), Some(view.stops));
                HookInput { idempotency_key: key(&format!("{step}/stop")), final_output, stops, ..asked }
            }
            HookTarget::Before(call) => {
                let idempotency_key = key(&format!("{call}/{}", point.as_str()));
                HookInput { idempotency_key, ..self.about_call(session, task, call, asked)? }
            }
            HookTarget::After(call) => {
                let idempotency_key = key(&format!("{call}/{}", point.as_str()));
                let output = Some(self.held_output(session, task, call)?);
                HookInput { idempotency_key, output, ..self.about_call(session, task, call, asked)? }
            }
        })
    }

    fn about_call(
        &self,
        session: &HostedSession,
        task: &TaskId,
        call: &str,
        asked: HookInput,
    ) -> Option<HookInput> {
        let tool_name = Some(session.view.task(task)?.1.call(call)?.name.clone());
        let arguments: Value = serde_json::from_str(&self.effective_arguments(session, task, call)?).ok()?;
        let (tool_call_id, arguments) = (Some(call.to_owned()), Some(arguments));
        Some(HookInput { tool_name, tool_call_id, arguments, ..asked })
    }

    /// The arguments of a call as the newest hook left them; None if those are lost.
    pub(crate) fn effective_arguments(
        &self,
        session: &HostedSession,
        task: &TaskId,
        call: &str,
    ) -> Option<String> {
        let known = session.view.task(task)?.1.call(call)?;
        let text = match known.rewritten() {
            Some(reference) => self.texts.get(reference)?.clone(),
            None => session.arguments(task, &known.item)?,
        };
        Some(if text.trim().is_empty() { "{}".to_owned() } else { text })
    }

    /// What hooks want the model to read beside a result.
    pub(crate) fn hook_context(&self, session: &HostedSession, task: &TaskId, call: &str) -> Vec<Part> {
        let Some((_, view)) = session.view.task(task) else { return Vec::new() };
        let hooks = hooks_at(view, &HookTarget::Before(call.to_owned()));
        let points = [HookPoint::PreToolUse, HookPoint::PostToolUse, HookPoint::PostToolFailure];
        let answered = points.into_iter().flat_map(|point| answers(hooks, point));
        let texts =
            answered.flat_map(|(_, answer)| answer.context.iter().filter_map(|name| self.texts.get(name)));
        texts.map(|text| Part::plain(text.clone())).collect()
    }

    /// Reads the texts that hooks of open turns brought.
    pub(crate) async fn load_hook_texts(&mut self, session: &HostedSession) {
        let tasks = session.view.turns.values().flat_map(|turn| &turn.tasks);
        let mut names: Vec<String> = Vec::new();
        for task in tasks {
            names.extend(task.calls.iter().filter_map(|call| call.held.clone()));
            let hooks = task.hooks.iter().chain(task.calls.iter().flat_map(|call| &call.hooks));
            names.extend(
                hooks.filter_map(|hook| hook.answer.as_ref()).flat_map(|answer| answer.refs().cloned()),
            );
        }
        names.retain(|name| !self.texts.contains_key(name));
        for name in names {
            let Some(reference) = riverrun_log::BlobId::parse(&name) else { continue };
            let blob =
                session.shared.journal.log().blob(&session.key.tenant, &reference).await.ok().flatten();
            match blob.and_then(|blob| String::from_utf8(blob.bytes.to_vec()).ok()) {
                Some(text) => drop(self.texts.insert(name, text)),
                None => tracing::warn!(
                    session = session.key.session.as_str(),
                    name,
                    "what a hook brought is not there"
                ),
            }
        }
    }
}
