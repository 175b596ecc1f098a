//! Outputs of tools that hooks look at before anybody reads them.
//!
//! The output is in the store before the first hook sees it: a tool that has run is not run again because the server
//! died while a hook was asked.

use std::time::Duration;

use riverrun_event::{BlobRef, Block, EventType, Input, Part, TaskId, ToolFailed, ToolResult};
use riverrun_tool::{ToolError, ToolErrorKind, ToolOutput};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::actor::Actor;
use crate::actor::append::blobs::JSON;
use crate::actor::hooks::HookTexts;
use crate::actor::session::HostedSession;
use crate::actor::tools::call_facts::{beginning, metadata};
use crate::actor::tools::result::Outcome;
use crate::event_batch::EventBatch;
use crate::hook::HookPoint;
use crate::view::{CallView, answers};

/// A tool's output as the store has it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Held {
    content: Vec<Part>,
    block_list: Vec<Block>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    structured: Option<Value>,
    #[serde(default)]
    is_error: bool,
}

impl Actor {
    /// True if hooks come first; then the end of the tool is written and its result is not.
    pub(crate) fn hold(
        &mut self,
        task: &TaskId,
        call: &str,
        ended: &Result<ToolOutput, ToolError>,
        elapsed: Duration,
        batch: &mut EventBatch,
    ) -> bool {
        let did_fail = ended.as_ref().map_or(true, |output| output.is_error);
        let point = if did_fail { HookPoint::PostToolFailure } else { HookPoint::PostToolUse };
        let Some(persona) = self.session.persona(task) else { return false };
        let Some((_, view)) = self.session.view.task(task) else { return false };
        let Some(known) = view.call(call) else { return false };
        if !persona.spec.hooks.iter().any(|hook| hook.is_for(point, Some(&known.name))) {
            return false;
        }
        let (scope, name) = (view.call_scope(known), known.name.clone());
        let held = held(&name, ended);
        let text = serde_json::to_string(&held).unwrap_or_default();
        let metadata = metadata(&text, JSON);
        let output_ref: Option<BlobRef> = Some(self.keep_text(text, JSON));
        let preview = ended.as_ref().ok().and_then(beginning);
        let duration_ms = u64::try_from(elapsed.as_millis()).ok();
        match ended {
            Ok(output) if !output.is_error => {
                let (tool_name, status) = (Some(name), Some("completed".to_owned()));
                let end = ToolResult {
                    tool_name,
                    status,
                    preview,
                    output_ref,
                    duration_ms,
                    metadata,
                    ..ToolResult::default()
                };
                batch.push(EventType::ToolResult, &scope, &end);
            }
            Ok(_) => {
                let end = self.session.failure(task, name, ToolErrorKind::Failed, "the tool failed");
                let end = ToolFailed { preview, output_ref, duration_ms, metadata, ..end };
                batch.push(EventType::ToolFailed, &scope, &end);
            }
            Err(error) => {
                let end = self.session.failure(task, name, error.kind, &error.message);
                let end = ToolFailed { output_ref, duration_ms, metadata, ..end };
                batch.push(EventType::ToolFailed, &scope, &end);
            }
        }
        true
    }

    /// The hooks have seen the output: what they left of it is the call's result.
    pub(crate) fn conclude(&mut self, task: &TaskId, call: &str, batch: &mut EventBatch) {
        let Some((_, view)) = self.session.view.task(task) else { return };
        let Some(known) = view.call(call) else { return };
        let refusal = answers(&known.hooks, known.after()).find(|(_, answer)| answer.is_refusal());
        let refusal = refusal.map(|(hook, _)| hook.refusal("the result"));
        let suppresses = answers(&known.hooks, known.after()).any(|(_, answer)| answer.suppresses);
        let (held, replaced) = (self.hooks.held_by(known), self.hooks.replaced(known));
        let outcome = match (refusal, held) {
            (Some(text), _) => Outcome::error("failed", vec![Part::plain(text)]),
            (None, None) => {
                let text = "The tool ran, and what it gave is not in the store any more.";
                Outcome::error("failed", vec![Part::plain(text)])
            }
            (None, Some(held)) => {
                let (name, scope) = (known.name.clone(), view.call_scope(known));
                let mut output = held.with(replaced);
                let facts = self.blobs.output_facts(&self.session, &name, &mut output);
                facts.iter().for_each(|fact| fact.write(&scope, batch));
                let mut outcome = self.numbered(task, &name, output);
                if suppresses {
                    outcome.blocks = Some(Vec::new());
                }
                outcome
            }
        };
        self.write_result(task, call, &outcome, batch);
    }
}

impl HookTexts {
    /// What a hook reads of the output, as the hooks before it left it.
    pub(crate) fn held_output(&self, session: &HostedSession, task: &TaskId, call: &str) -> Option<Input> {
        let known = session.view.task(task)?.1.call(call)?;
        match self.replaced(known) {
            Some(input) => Some(input),
            None => Some(as_input(self.held_by(known)?.content)),
        }
    }

    fn held_by(&self, call: &CallView) -> Option<Held> {
        serde_json::from_str(self.texts.get(call.held.as_ref()?)?).ok()
    }

    fn replaced(&self, call: &CallView) -> Option<Input> {
        let mut answers = answers(&call.hooks, call.after()).rev();
        let newest = answers.find_map(|(_, answer)| answer.updated_output.as_ref())?;
        serde_json::from_str(self.texts.get(newest)?).ok()
    }
}

impl Held {
    fn with(self, replaced: Option<Input>) -> ToolOutput {
        let Held { content, block_list, structured, is_error } = self;
        match replaced {
            Some(Input::Text(text)) => ToolOutput { is_error, ..ToolOutput::text(text) },
            Some(Input::Parts(parts)) => {
                ToolOutput { content: parts.clone(), block_list: parts, is_error, ..ToolOutput::default() }
            }
            None => ToolOutput { content, block_list, structured, is_error },
        }
    }
}

fn held(name: &str, ended: &Result<ToolOutput, ToolError>) -> Held {
    match ended {
        Ok(output) => Held {
            content: output.content.clone(),
            block_list: output.block_list.clone(),
            structured: output.structured.clone(),
            is_error: output.is_error,
        },
        Err(error) => {
            let message = format!("The tool {name} failed. Error: {}", error.message);
            Held {
                content: vec![Part::plain(message)],
                block_list: Vec::new(),
                structured: None,
                is_error: true,
            }
        }
    }
}

fn as_input(content: Vec<Part>) -> Input {
    match content.as_slice() {
        [only] if only.text().is_some() => Input::Text(only.text().unwrap_or_default().to_owned()),
        _ => Input::Parts(content),
    }
}
