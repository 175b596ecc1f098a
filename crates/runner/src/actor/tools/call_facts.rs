//! What the events of a tool call say beside its result: the arguments that run and why they may, where large values
//! are, and what kind of failure an error is.

use riverrun_event::{BlobRef, ErrorInfo, Part, RawJson, TaskId, ToolFailed, ToolStarted, preview};
use riverrun_log::BlobId as StoredRef;
use riverrun_secret::{HIDDEN, known as known_secrets};
use riverrun_tool::{ToolErrorKind, ToolOutput};
use serde_json::{Value, json};

use crate::actor::Actor;
use crate::actor::append::blobs::BlobQueue;
use crate::actor::append::blobs::JSON;
use crate::actor::approvals::Approvals;
use crate::actor::hooks::INLINE;
use crate::actor::session::HostedSession;
use crate::agent::Approval;
use crate::approve::identity;
use crate::event_batch::EventBatch;
use crate::resolved_agent::Tooling;
use crate::safe_args::safe_args;
use crate::view::CallView;

/// A result with more bytes is also in the store, and `tool.result` refers to it.
const LARGE_RESULT: usize = 16 << 10;
const TEXT: &str = "text/plain; charset=utf-8";
/// The beginning of a result that `tool.result` shows, in characters.
const PREVIEW: usize = 200;

/// Large bytes in the store and what is known of them.
pub(crate) struct StoredOutput {
    pub reference: BlobRef,
    pub metadata: Option<RawJson>,
}

impl Actor {
    /// Writes that a call begins to run. `source`: who let it run, `policy` or `rule`, if nobody was asked.
    pub(crate) fn write_started(
        &mut self,
        task: &TaskId,
        call: &str,
        tooling: &Tooling<'_>,
        arguments: &Value,
        source: &str,
        batch: &mut EventBatch,
    ) {
        let Some((_, view)) = self.session.view.task(task) else { return };
        let Some(known) = view.call(call) else { return };
        let (scope, rewritten) = (view.call_scope(known), known.rewritten().map(ToOwned::to_owned));
        let is_edited = known.edited().is_some();
        let permit = self.approvals.permit(&self.session, task, known, tooling, source);
        let (text, safe) = (arguments.to_string(), safe_args(arguments, &known_secrets()));
        let mut started = ToolStarted {
            safe_args: RawJson::of(&safe).ok(),
            input_ref: rewritten.filter(|_| !is_edited).map(BlobRef::Bare),
            ..permit
        };
        if text.len() > INLINE {
            started.preview = Some(preview(&safe.to_string()).to_owned());
            started.metadata = metadata(&text, JSON);
            started.input_ref =
                started.input_ref.or_else(|| self.blobs.keep(&self.session, text.into_bytes(), JSON));
        }
        batch.push(riverrun_event::EventType::ToolStarted, &scope, &started);
    }
}

impl Approvals {
    /// Why a call may run.
    fn permit(
        &self,
        session: &HostedSession,
        task: &TaskId,
        call: &CallView,
        tooling: &Tooling<'_>,
        source: &str,
    ) -> ToolStarted {
        let approval = call.action.as_ref().filter(|_| call.is_approved());
        let decided = approval.and_then(|action| action.resolved.as_ref());
        let source = match decided {
            Some(resolved) => resolved.source.as_deref().unwrap_or("person"),
            None => source,
        };
        ToolStarted {
            tool_name: call.name.clone(),
            policy: Some("allowed".to_owned()),
            rule_refs: Some(self.rule_refs(session, task, call, tooling, source)),
            decision_source: Some(source.to_owned()),
            approval_action_id: approval.map(|action| action.action.to_string()),
            ..ToolStarted::default()
        }
    }

    /// The rules that a decision about a call rests on: the agent's, one that somebody made for always, a hook's.
    pub(crate) fn rule_refs(
        &self,
        session: &HostedSession,
        task: &TaskId,
        call: &CallView,
        tooling: &Tooling<'_>,
        source: &str,
    ) -> Vec<BlobRef> {
        let mut refs = Vec::new();
        if let Some(persona) = session.persona(task) {
            refs.push(format!(
                "policy:{}",
                crate::actor::tools::calls::approval_of(&persona, tooling, &call.name).mode()
            ));
        }
        let rule = || {
            let (definition, (_, view)) = (tooling.definition(&call.name)?, session.view.task(task)?);
            self.rules.find(&identity(&definition), &view.agent)
        };
        if let Some(rule) = Some(source).filter(|source| *source == "rule").and_then(|_| rule()) {
            refs.push(format!("rule:{}", rule.rule_id));
        }
        refs.extend(call.asking().map(|(hook, _)| format!("hook:{}", hook.name)));
        refs.into_iter().map(BlobRef::Bare).collect()
    }
}

impl BlobQueue {
    /// Stores a result that is large with what is written next. None for any other.
    pub(crate) fn keep_large(
        &mut self,
        session: &HostedSession,
        output: &ToolOutput,
    ) -> Option<StoredOutput> {
        let size: usize = output.content.iter().filter_map(Part::text).map(str::len).sum();
        if size <= LARGE_RESULT {
            return None;
        }
        let texts: Option<Vec<&str>> = output.content.iter().map(Part::text).collect();
        let (bytes, media_type) = match texts {
            Some(texts) => (texts.concat(), TEXT),
            None => (serde_json::to_string(&output.content).ok()?, JSON),
        };
        let metadata = metadata(&bytes, media_type);
        Some(StoredOutput { reference: self.keep(session, bytes.into_bytes(), media_type)?, metadata })
    }
}

impl HostedSession {
    /// What a call's failure is, with whether it may be tried again.
    pub(crate) fn failure(
        &self,
        task: &TaskId,
        name: String,
        kind: ToolErrorKind,
        message: &str,
    ) -> ToolFailed {
        let is_once = self.is_once(task, &name);
        failed(name, kind, message, is_once)
    }

    /// What the model reads before the result of a call that ran otherwise than it was written.
    pub(crate) fn edit_notice(&self, task: &TaskId, call: &str) -> Option<Part> {
        let known = self.view.task(task)?.1.call(call).filter(|known| known.is_started)?;
        let name = &known.name;
        if let Some(edited) = known.edited() {
            let arguments: Value = edited.to().ok()?;
            let text = arguments.to_string();
            let shown = match text.len() > INLINE {
                true => safe_args(&arguments, &known_secrets()).to_string(),
                false => known_secrets().text(&text).into_owned(),
            };
            return Some(Part::plain(format!(
                "A reviewer replaced this call before it ran: `{name}` ran with {shown} instead of the arguments \
                 above. The result is of that call.\n\n"
            )));
        }
        known.rewritten()?;
        Some(Part::plain(format!(
            "A hook changed the arguments of this call of `{name}` before it ran; the result is of the changed \
             call.\n\n"
        )))
    }
}

impl Approval {
    /// The word by which rule references name it.
    fn mode(&self) -> &'static str {
        match self {
            Approval::Policy => "policy",
            Approval::Never => "never",
            Approval::Always => "always",
            Approval::Asked(_) => "asked",
            Approval::Denied(_) => "denied",
            Approval::Predicate(_) => "predicate",
        }
    }
}

/// What is known of bytes in the store. All of them are there; secrets were replaced before.
pub(crate) fn metadata(text: &str, media_type: &str) -> Option<RawJson> {
    let reference = StoredRef::of(text.as_bytes()).to_string();
    RawJson::of(&json!({
        "mediaType": media_type,
        "encoding": "utf-8",
        "size": text.len(),
        "digest": format!("sha256:{}", reference.trim_start_matches("blob_")),
        "truncated": false,
        "redacted": text.contains(HIDDEN),
        "owner": "session",
    }))
    .ok()
}

/// The beginning of a result.
pub(crate) fn beginning(output: &ToolOutput) -> Option<String> {
    let characters = output.content.iter().filter_map(Part::text).flat_map(str::chars);
    let short: String = characters.take(PREVIEW).collect();
    (!short.is_empty()).then_some(short)
}

/// `is_once`: whoever calls the tool again may repeat an effect.
pub(crate) fn failed(name: String, kind: ToolErrorKind, message: &str, is_once: bool) -> ToolFailed {
    let (category, retryable, advice) = advice(kind, is_once);
    ToolFailed {
        error: ErrorInfo {
            message: message.to_owned(),
            code: Some(kind.as_str().to_owned()),
            category: Some(category.to_owned()),
            retryable: Some(retryable),
            advice: Some(advice.to_owned()),
            upstream: None,
        },
        tool_name: Some(name),
        ..ToolFailed::default()
    }
}

/// The category of a failure, whether the same call may succeed later, and what to do.
fn advice(kind: ToolErrorKind, is_once: bool) -> (&'static str, bool, &'static str) {
    const LOOK_FIRST: &str = "find out whether it had its effect before calling it again";
    let again = |advice| if is_once { LOOK_FIRST } else { advice };
    match kind {
        ToolErrorKind::UnknownTool => ("input", false, "call one of the tools that the agent has"),
        ToolErrorKind::BadArguments => ("input", false, "call it again with arguments that fit its schema"),
        ToolErrorKind::Failed => {
            ("tool", !is_once, again("read the message; call it again if that can help"))
        }
        ToolErrorKind::Timeout => ("timeout", !is_once, again("call it again with less to do, or later")),
        ToolErrorKind::Crashed => ("tool", !is_once, again("call it again")),
        ToolErrorKind::OutcomeUnknown => ("unknown", false, LOOK_FIRST),
        ToolErrorKind::Unavailable => ("unavailable", true, "call it again later"),
        ToolErrorKind::LimitPassed => ("limit", false, "ask for less at once"),
        ToolErrorKind::Denied => ("policy", false, "do not call it again unless the user asks for it"),
        ToolErrorKind::Cancelled => ("cancelled", false, "nothing; somebody stopped it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_its_kind_and_whether_to_try_again() {
        let check = |kind, is_once, category: &str, retryable| {
            let error = failed("t".to_owned(), kind, "m", is_once).error;
            let found = (error.category.as_deref(), error.retryable);
            assert_eq!(found, (Some(category), Some(retryable)), "{kind:?}");
            assert!(error.advice.is_some_and(|advice| !advice.is_empty()));
        };
        check(ToolErrorKind::Timeout, false, "timeout", true);
        check(ToolErrorKind::Timeout, true, "timeout", false);
        check(ToolErrorKind::Unavailable, true, "unavailable", true);
        check(ToolErrorKind::Denied, false, "policy", false);
        check(ToolErrorKind::BadArguments, false, "input", false);
        check(ToolErrorKind::OutcomeUnknown, false, "unknown", false);
    }

    #[test]
    fn metadata_says_what_is_referred_to() {
        let value: Value = metadata("a [secret] b", TEXT).unwrap().to().unwrap();
        assert_eq!(
            (&value["size"], &value["redacted"], &value["truncated"]),
            (&json!(12), &json!(true), &json!(false))
        );
        assert!(value["digest"].as_str().unwrap().starts_with("sha256:"));
    }
}
