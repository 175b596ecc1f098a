//! Hooks that are asked, and what their answers change.

use std::time::Duration;

use riverrun_event::{
    ErrorInfo, EventScope, EventType, HookRun, Input, InputSteered, RawJson, RuntimeNotice, TaskId, preview,
};
use serde_json::Value;

use crate::actor::Actor;
use crate::actor::append::blobs::JSON;
use crate::actor::hooks::{INLINE, TEXT, hooks_at};
use crate::actor::session::HostedSession;
use crate::drive::{EffectKey, HookCall, HookFailure, HookTarget, Launch};
use crate::event_batch::EventBatch;
use crate::hook::{HookDecision, HookOutput, HookPoint, OnFailure};
use crate::resolved_agent::Tooling;
use crate::view::{HookView, LOST};

/// What a hook may bring.
const LARGEST: usize = 1 << 20;

impl Actor {
    /// Asks a hook, once the fact that it is asked is durable.
    pub(crate) fn ask_hook(
        &mut self,
        task: &TaskId,
        target: &HookTarget,
        name: &str,
        batch: &mut EventBatch,
    ) {
        let Some(used) = self.session.hook_use(task, name) else { return };
        let Some((scope, point)) = self.session.hook_target_scope(task, target) else { return };
        let Some(input) = self.hooks.hook_input(&self.session, task, target, point, name) else {
            // What cannot be shown to a hook cannot go on either, and is told as what it is.
            return match target {
                HookTarget::Before(call) => self.judge(task, call, batch),
                HookTarget::After(call) => self.conclude(task, call, batch),
                HookTarget::Prompt | HookTarget::Stop => {}
            };
        };
        let asked = self.session.view.task(task).map(|(_, view)| hooks_at(view, target)).unwrap_or_default();
        for cut in asked.iter().filter(|hook| hook.answer.is_none()) {
            let error = interrupted(LOST, "the server stopped while the hook was asked");
            batch.push(EventType::HookFailed, &scope, &failed_run(cut, error));
        }
        let started = HookRun { tool_name: input.tool_name.clone(), ..run_of(name, point) };
        batch.push(EventType::HookStarted, &scope, &started);
        let call = HookCall { hook: used.hook.clone(), input, timeout: used.timeout };
        let key = EffectKey::Hook(task.clone(), target.clone());
        self.effects.launch_later(key, Launch::Hook(Box::new(call)));
    }

    pub(crate) fn hook_answered(
        &mut self,
        task: &TaskId,
        target: &HookTarget,
        answer: Result<HookOutput, HookFailure>,
        elapsed: Duration,
        batch: &mut EventBatch,
    ) {
        let Some((scope, point)) = self.session.hook_target_scope(task, target) else { return };
        let Some((_, view)) = self.session.view.task(task) else { return };
        let open = hooks_at(view, target).iter().find(|hook| hook.answer.is_none());
        let Some(name) = open.map(|hook| hook.name.clone()) else { return };
        let tool_name = self.session.call_name(task, target);
        let duration_ms = u64::try_from(elapsed.as_millis()).ok();
        let run = HookRun { tool_name, duration_ms, ..run_of(&name, point) };
        let usable =
            answer.and_then(|output| match self.session.check_answer(task, target, point, &output) {
                Ok(()) => Ok(output),
                Err(message) => Err(HookFailure { code: "bad_answer", message }),
            });
        match usable {
            Ok(output) => self.hook_completed(task, target, run, output, &scope, batch),
            Err(failure) => self.session.hook_failed(task, point, run, failure, &scope, batch),
        }
    }

    pub(crate) fn hook_completed(
        &mut self,
        task: &TaskId,
        target: &HookTarget,
        base: HookRun,
        output: HookOutput,
        scope: &EventScope,
        batch: &mut EventBatch,
    ) {
        let mut run = HookRun {
            outcome: Some(output.decision.as_str().to_owned()),
            reason: output.reason.clone(),
            suppress_output: output.suppress_output.then_some(true),
            ..base
        };
        if let Some(updated) = &output.updated_input {
            self.write_rewrite(task, target, updated, &mut run);
        }
        if let Some(context) = &output.additional_context {
            run.additional_context = Some(preview(context).to_owned());
            run.additional_context_refs = Some(vec![self.keep_text(context.clone(), TEXT)]);
        }
        if let Some(updated) = &output.updated_tool_output {
            run.preview = Some(preview(&updated.text()).to_owned());
            let text = serde_json::to_string(updated).unwrap_or_default();
            run.updated_tool_output_ref = Some(self.keep_text(text, JSON));
        }
        batch.push(EventType::HookCompleted, scope, &run);
        if let Some(input) = steer(target, &output) {
            let source = run.hook_name.map(|name| format!("hook:{name}"));
            batch.push(EventType::InputSteered, scope, &InputSteered { input, source });
        }
    }

    /// The input before and after, side by side.
    pub(crate) fn write_rewrite(
        &mut self,
        task: &TaskId,
        target: &HookTarget,
        updated: &Value,
        run: &mut HookRun,
    ) {
        let original = match target {
            HookTarget::Prompt => {
                self.session.prompt(task).and_then(|input| serde_json::to_string(&input).ok())
            }
            HookTarget::Before(call) => self.hooks.effective_arguments(&self.session, task, call),
            HookTarget::After(_) | HookTarget::Stop => None,
        };
        let updated = updated.to_string();
        let is_shown = |text: &str| text.len() <= INLINE;
        if !is_shown(&updated) {
            run.preview = Some(preview(&updated).to_owned());
        }
        let shown = |text: &String| is_shown(text).then(|| RawJson::parse(text).ok()).flatten();
        run.original_input = original.as_ref().and_then(shown);
        match target {
            // The fold gives this to the turn; the log itself takes a long text out of the event.
            HookTarget::Prompt => run.updated_prompt = serde_json::from_str(&updated).ok(),
            HookTarget::Before(_) | HookTarget::After(_) | HookTarget::Stop => {
                run.updated_input = shown(&updated)
            }
        }
        run.original_input_ref = original.map(|text| self.keep_text(text, JSON));
        run.updated_input_ref = Some(self.keep_text(updated, JSON));
    }
}

impl HostedSession {
    pub(crate) fn hook_failed(
        &self,
        task: &TaskId,
        point: HookPoint,
        base: HookRun,
        failure: HookFailure,
        scope: &EventScope,
        batch: &mut EventBatch,
    ) {
        let name = base.hook_name.clone().unwrap_or_default();
        // One that is not there any more cannot have allowed anything.
        let if_failed = self.hook_use(task, &name).map_or(OnFailure::Block, |used| used.if_failed(point));
        let decision = match if_failed {
            OnFailure::Block => HookDecision::Block,
            OnFailure::Allow => HookDecision::Continue,
        };
        let HookFailure { code, message } = failure;
        let warning = format!("hook `{name}` failed at {} and was passed over: {message}", point.as_str());
        let run = HookRun {
            outcome: Some(decision.as_str().to_owned()),
            reason: Some("it gave no usable answer".to_owned()),
            error: Some(ErrorInfo { message, code: Some(code.to_owned()), ..ErrorInfo::default() }),
            ..base
        };
        batch.push(EventType::HookFailed, scope, &run);
        if if_failed == OnFailure::Allow {
            let notice = RuntimeNotice {
                code: Some("hook_failed".to_owned()),
                message: Some(warning),
                ..RuntimeNotice::default()
            };
            batch.push(EventType::RuntimeWarning, scope, &notice);
        }
    }

    /// Err says what is wrong with the answer.
    pub(crate) fn check_answer(
        &self,
        task: &TaskId,
        target: &HookTarget,
        point: HookPoint,
        output: &HookOutput,
    ) -> Result<(), String> {
        output.check(point)?;
        let sizes = [
            output.updated_input.as_ref().map_or(0, |value| value.to_string().len()),
            output.additional_context.as_ref().map_or(0, String::len),
            output
                .updated_tool_output
                .as_ref()
                .map_or(0, |output| serde_json::to_string(output).map_or(0, |text| text.len())),
            output.reason.as_ref().map_or(0, String::len),
        ];
        if sizes.iter().any(|size| *size > LARGEST) {
            return Err(format!("its answer has more than {LARGEST} bytes"));
        }
        let Some(updated) = &output.updated_input else { return Ok(()) };
        match target {
            HookTarget::Prompt => serde_json::from_value::<Input>(updated.clone())
                .map(drop)
                .map_err(|error| format!("its `updatedInput` is no input of a turn: {error}")),
            HookTarget::Before(call) => self.check_arguments(task, call, updated),
            HookTarget::After(_) | HookTarget::Stop => Ok(()),
        }
    }

    pub(crate) fn check_arguments(&self, task: &TaskId, call: &str, updated: &Value) -> Result<(), String> {
        let misfit =
            |problem: String| format!("its `updatedInput` does not fit the tool's schema: {problem}");
        let name = self.call_name(task, &HookTarget::Before(call.to_owned())).unwrap_or_default();
        let persona = self.persona(task);
        match persona.as_ref().and_then(|persona| persona.tooling(&name)) {
            Some(Tooling::Ours(ours)) => crate::schema::check(&ours.tool.definition().parameters, updated),
            Some(Tooling::Client { schema, .. }) if !schema.is_null() => {
                crate::schema::check(&schema, updated)
            }
            Some(Tooling::Client { .. } | Tooling::Subagent(_) | Tooling::Handoff(_)) | None => Ok(()),
        }
        .map_err(misfit)
    }

    /// Hooks that are asked while their work ends are asked in vain.
    pub(crate) fn close_hooks(&self, task: &TaskId, code: &str, batch: &mut EventBatch) {
        let Some((_, view)) = self.view.task(task) else { return };
        let error = || interrupted(code, "the work ended while the hook was asked");
        for hook in view.hooks.iter().filter(|hook| hook.answer.is_none()) {
            batch.push(EventType::HookFailed, &view.step_scope(), &failed_run(hook, error()));
        }
        for call in &view.calls {
            for hook in call.hooks.iter().filter(|hook| hook.answer.is_none()) {
                batch.push(EventType::HookFailed, &view.call_scope(call), &failed_run(hook, error()));
            }
        }
    }
}

/// What the model is told: context beside the input, or why the turn does not end yet.
fn steer(target: &HookTarget, output: &HookOutput) -> Option<Input> {
    let is_refusal = matches!(output.decision, HookDecision::Block | HookDecision::Deny);
    let text = match (target, is_refusal) {
        (HookTarget::Prompt, false) => output.additional_context.clone()?,
        (HookTarget::Stop, true) => {
            let parts = [output.reason.as_deref(), output.additional_context.as_deref()];
            let texts: Vec<&str> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
            if texts.is_empty() { "Go on; the work is not done.".to_owned() } else { texts.join("\n\n") }
        }
        (HookTarget::Prompt | HookTarget::Stop | HookTarget::Before(_) | HookTarget::After(_), _) => {
            return None;
        }
    };
    Some(Input::Text(text))
}

fn run_of(name: &str, point: HookPoint) -> HookRun {
    HookRun { hook_name: Some(name.to_owned()), point: Some(point.as_str().to_owned()), ..HookRun::default() }
}

fn failed_run(hook: &HookView, error: ErrorInfo) -> HookRun {
    HookRun { error: Some(error), ..run_of(&hook.name, hook.point) }
}

fn interrupted(code: &str, message: &str) -> ErrorInfo {
    ErrorInfo { message: message.to_owned(), code: Some(code.to_owned()), ..ErrorInfo::default() }
}
