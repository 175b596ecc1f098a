//! Hooks: what they are asked, and what their answers change.

pub(super) mod held_output;
pub(super) mod input;

use std::time::Duration;

use riverrun_event::{
    BlobRef, ErrorInfo, EventType, HookRun, Input, InputSteered, RawJson, RuntimeNotice, Scope, TaskId,
    preview,
};
use serde_json::Value;

use crate::actor::Actor;
use crate::actor::append::blobs::JSON;
use crate::drive::{EffectKey, HookCall, HookFailure, HookPlace, Launch};
use crate::hook::{HookDecision, HookOutput, HookPoint, HookUse, OnFailure};
use crate::page::Page;
use crate::persona::Tooling;
use crate::view::{HookView, LOST, TaskView};

/// An input that is longer is shown by its beginning and a reference.
pub(crate) const INLINE: usize = 4096;
/// What a hook may bring.
const LARGEST: usize = 1 << 20;
const TEXT: &str = "text/plain; charset=utf-8";

impl Actor {
    /// Asks a hook, once the fact that it is asked is durable.
    pub(crate) fn ask_hook(&mut self, task: &TaskId, place: &HookPlace, name: &str, page: &mut Page) {
        let Some(used) = self.hook_use(task, name) else { return };
        let Some((scope, point)) = self.hook_place(task, place) else { return };
        let Some(input) = self.hook_input(task, place, point, name) else {
            // What cannot be shown to a hook cannot go on either, and is told as what it is.
            return match place {
                HookPlace::Before(call) => self.judge(task, call, page),
                HookPlace::After(call) => self.conclude(task, call, page),
                HookPlace::Prompt | HookPlace::Stop => {}
            };
        };
        let told = self.view.task(task).map(|(_, view)| hooks_at(view, place)).unwrap_or_default();
        for cut in told.iter().filter(|hook| hook.answer.is_none()) {
            let error = interrupted(LOST, "the server stopped while the hook was asked");
            page.push(EventType::HookFailed, &scope, &failed_run(cut, error));
        }
        let started = HookRun { tool_name: input.tool_name.clone(), ..run_of(name, point) };
        page.push(EventType::HookStarted, &scope, &started);
        let call = HookCall { hook: used.hook.clone(), input, timeout: used.timeout };
        let key = EffectKey::Hook(task.clone(), place.clone());
        self.launches.push((key, Launch::Hook(Box::new(call))));
    }

    pub(crate) fn hook_answered(
        &mut self,
        task: &TaskId,
        place: &HookPlace,
        answer: Result<HookOutput, HookFailure>,
        elapsed: Duration,
        page: &mut Page,
    ) {
        let Some((scope, point)) = self.hook_place(task, place) else { return };
        let Some((_, view)) = self.view.task(task) else { return };
        let open = hooks_at(view, place).iter().find(|hook| hook.answer.is_none());
        let Some(name) = open.map(|hook| hook.name.clone()) else { return };
        let tool_name = self.call_name(task, place);
        let duration_ms = u64::try_from(elapsed.as_millis()).ok();
        let told = HookRun { tool_name, duration_ms, ..run_of(&name, point) };
        let usable = answer.and_then(|output| match self.check_answer(task, place, point, &output) {
            Ok(()) => Ok(output),
            Err(message) => Err(HookFailure { code: "bad_answer", message }),
        });
        match usable {
            Ok(output) => self.hook_completed(task, place, told, output, &scope, page),
            Err(failure) => self.hook_failed(task, point, told, failure, &scope, page),
        }
    }

    fn hook_completed(
        &mut self,
        task: &TaskId,
        place: &HookPlace,
        told: HookRun,
        output: HookOutput,
        scope: &Scope,
        page: &mut Page,
    ) {
        let mut run = HookRun {
            outcome: Some(output.decision.as_str().to_owned()),
            reason: output.reason.clone(),
            suppress_output: output.suppress_output.then_some(true),
            ..told
        };
        if let Some(updated) = &output.updated_input {
            self.write_rewrite(task, place, updated, &mut run);
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
        page.push(EventType::HookCompleted, scope, &run);
        if let Some(input) = steer(place, &output) {
            let source = run.hook_name.map(|name| format!("hook:{name}"));
            page.push(EventType::InputSteered, scope, &InputSteered { input, source });
        }
    }

    /// The input before and after, side by side.
    fn write_rewrite(&mut self, task: &TaskId, place: &HookPlace, updated: &Value, run: &mut HookRun) {
        let original = match place {
            HookPlace::Prompt => self.prompt(task).and_then(|input| serde_json::to_string(&input).ok()),
            HookPlace::Before(call) => self.effective_arguments(task, call),
            HookPlace::After(_) | HookPlace::Stop => None,
        };
        let updated = updated.to_string();
        let is_shown = |text: &str| text.len() <= INLINE;
        if !is_shown(&updated) {
            run.preview = Some(preview(&updated).to_owned());
        }
        let shown = |text: &String| is_shown(text).then(|| RawJson::parse(text).ok()).flatten();
        run.original_input = original.as_ref().and_then(shown);
        match place {
            // The fold gives this to the turn; the log itself takes a long text out of the event.
            HookPlace::Prompt => run.updated_prompt = serde_json::from_str(&updated).ok(),
            HookPlace::Before(_) | HookPlace::After(_) | HookPlace::Stop => {
                run.updated_input = shown(&updated)
            }
        }
        run.original_input_ref = original.map(|text| self.keep_text(text, JSON));
        run.updated_input_ref = Some(self.keep_text(updated, JSON));
    }

    fn hook_failed(
        &mut self,
        task: &TaskId,
        point: HookPoint,
        told: HookRun,
        failure: HookFailure,
        scope: &Scope,
        page: &mut Page,
    ) {
        let name = told.hook_name.clone().unwrap_or_default();
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
            ..told
        };
        page.push(EventType::HookFailed, scope, &run);
        if if_failed == OnFailure::Allow {
            let notice = RuntimeNotice {
                code: Some("hook_failed".to_owned()),
                message: Some(warning),
                ..RuntimeNotice::default()
            };
            page.push(EventType::RuntimeWarning, scope, &notice);
        }
    }

    /// Err says what is wrong with the answer.
    fn check_answer(
        &self,
        task: &TaskId,
        place: &HookPlace,
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
        match place {
            HookPlace::Prompt => serde_json::from_value::<Input>(updated.clone())
                .map(drop)
                .map_err(|error| format!("its `updatedInput` is no input of a turn: {error}")),
            HookPlace::Before(call) => self.check_arguments(task, call, updated),
            HookPlace::After(_) | HookPlace::Stop => Ok(()),
        }
    }

    fn check_arguments(&self, task: &TaskId, call: &str, updated: &Value) -> Result<(), String> {
        let misfit =
            |problem: String| format!("its `updatedInput` does not fit the tool's schema: {problem}");
        let name = self.call_name(task, &HookPlace::Before(call.to_owned())).unwrap_or_default();
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
    pub(crate) fn close_hooks(&self, task: &TaskId, code: &str, page: &mut Page) {
        let Some((_, view)) = self.view.task(task) else { return };
        let error = || interrupted(code, "the work ended while the hook was asked");
        for hook in view.hooks.iter().filter(|hook| hook.answer.is_none()) {
            page.push(EventType::HookFailed, &view.step_scope(), &failed_run(hook, error()));
        }
        for call in &view.calls {
            for hook in call.hooks.iter().filter(|hook| hook.answer.is_none()) {
                page.push(EventType::HookFailed, &view.call_scope(call), &failed_run(hook, error()));
            }
        }
    }
}

/// What the model is told: context beside the input, or why the turn does not end yet.
fn steer(place: &HookPlace, output: &HookOutput) -> Option<Input> {
    let is_refusal = matches!(output.decision, HookDecision::Block | HookDecision::Deny);
    let text = match (place, is_refusal) {
        (HookPlace::Prompt, false) => output.additional_context.clone()?,
        (HookPlace::Stop, true) => {
            let parts = [output.reason.as_deref(), output.additional_context.as_deref()];
            let told: Vec<&str> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
            if told.is_empty() { "Go on; the work is not done.".to_owned() } else { told.join("\n\n") }
        }
        (HookPlace::Prompt | HookPlace::Stop | HookPlace::Before(_) | HookPlace::After(_), _) => return None,
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

/// The hooks that were asked about this.
pub(crate) fn hooks_at<'a>(view: &'a TaskView, place: &HookPlace) -> &'a [HookView] {
    match place {
        HookPlace::Prompt | HookPlace::Stop => &view.hooks,
        HookPlace::Before(call) | HookPlace::After(call) => {
            view.call(call).map(|call| call.hooks.as_slice()).unwrap_or_default()
        }
    }
}

impl Actor {
    pub(crate) fn hook_use(&self, task: &TaskId, name: &str) -> Option<HookUse> {
        self.persona(task)?.spec.hooks.iter().find(|hook| hook.name == name).cloned()
    }

    /// Keeps a text with what is written next, and at hand.
    pub(crate) fn keep_text(&mut self, text: String, media_type: &str) -> BlobRef {
        let reference = riverrun_log::BlobRef::of(text.as_bytes()).to_string();
        self.keep(text.clone().into_bytes(), media_type);
        self.kept.insert(reference.clone(), text);
        BlobRef::Bare(reference)
    }
}
