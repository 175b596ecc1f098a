//! What running tools tell.

use std::time::Duration;

use riverrun_event::{
    EventScope, EventType, Part, TaskId, ToolFailed, ToolOutcomeUnknown, ToolProgress, ToolResult,
};
use riverrun_tool::{CallProgress, Effect, ToolError, ToolErrorKind, ToolOutput};

use crate::actor::Actor;
use crate::actor::session::HostedSession;
use crate::actor::tools::ToolCalls;
use crate::actor::tools::call_facts::beginning;
use crate::actor::tools::result::Outcome;
use crate::event_batch::EventBatch;
use crate::reference::{Keep, Pool, ReferenceMode, References};
use crate::resolved_agent::Tooling;

impl Actor {
    pub(crate) fn tool_progress(
        &mut self,
        task: &TaskId,
        call: &str,
        progress: CallProgress,
        batch: &mut EventBatch,
    ) {
        let CallProgress { message, fraction, partial, block_index } = progress;
        let partial = match partial {
            Some(block) => self.draft(task, call, block_index.unwrap_or_default(), block, batch),
            None => None,
        };
        let Some((_, view)) = self.session.view.task(task) else { return };
        let Some(known) = view.call(call) else { return };
        batch.push(
            EventType::ToolProgress,
            &view.call_scope(known),
            &ToolProgress { message, fraction, partial },
        );
    }

    pub(crate) fn tool_ended(
        &mut self,
        task: &TaskId,
        call: &str,
        ended: Result<ToolOutput, ToolError>,
        elapsed: Duration,
        batch: &mut EventBatch,
    ) {
        if self.hold(task, call, &ended, elapsed, batch) {
            return;
        }
        let Some((_, view)) = self.session.view.task(task) else { return };
        let Some(known) = view.call(call) else { return };
        let (scope, name) = (view.call_scope(known), known.name.clone());
        let duration_ms = u64::try_from(elapsed.as_millis()).ok();
        let output_ref = self.end_processes(task, call, "call_ended", None, batch);
        let mut output = match ended {
            Ok(output) => output,
            Err(error) => {
                if error.kind == ToolErrorKind::OutcomeUnknown && self.session.is_once(task, &name) {
                    return self.unsure(task, call, name, error.message, batch);
                }
                let message = format!("The tool {name} failed. Error: {}", error.message);
                self.write_result(task, call, &Outcome::error("failed", vec![Part::plain(message)]), batch);
                let failed = self.session.failure(task, name, error.kind, &error.message);
                return push_failed(&scope, ToolFailed { output_ref, ..failed }, duration_ms, batch);
            }
        };
        let facts = self.blobs.output_facts(&self.session, &name, &mut output);
        let preview = beginning(&output);
        // What a process wrote is stored already, and more of it than the model reads.
        let large = if output_ref.is_none() { self.blobs.keep_large(&self.session, &output) } else { None };
        let metadata = large.as_ref().and_then(|large| large.metadata.clone());
        let output_ref = large.map(|large| large.reference).or(output_ref);
        let outcome = self.numbered(task, &name, output);
        let is_error = outcome.is_error;
        self.write_result(task, call, &outcome, batch);
        if is_error {
            let message = preview.as_deref().unwrap_or("the tool failed");
            let failed = self.session.failure(task, name, ToolErrorKind::Failed, message);
            let preview = preview.filter(|_| metadata.is_some());
            push_failed(&scope, ToolFailed { preview, metadata, output_ref, ..failed }, duration_ms, batch);
        } else {
            let result = ToolResult {
                tool_name: Some(name),
                status: Some("completed".to_owned()),
                preview,
                duration_ms,
                output_ref,
                metadata,
                ..ToolResult::default()
            };
            batch.push(EventType::ToolResult, &scope, &result);
        }
        facts.iter().for_each(|fact| fact.write(&scope, batch));
    }

    /// The call was made, and what came of it nobody can say: it may have had its effect, and must not be made again
    /// without a look.
    fn unsure(&mut self, task: &TaskId, call: &str, name: String, reason: String, batch: &mut EventBatch) {
        let Some((_, view)) = self.session.view.task(task) else { return };
        let Some(known) = view.call(call) else { return };
        let scope = view.call_scope(known);
        let text = format!(
            "Whether `{name}` had its effect is not known: {reason}. Find out before you call it again."
        );
        self.write_result(task, call, &Outcome::error("failed", vec![Part::plain(text)]), batch);
        let unknown = ToolOutcomeUnknown { tool_name: Some(name), reason: Some(reason) };
        batch.push(EventType::ToolOutcomeUnknown, &scope, &unknown);
    }

    /// What both the model and the user see gets a number, by which the model may cite it.
    pub(crate) fn numbered(&mut self, task: &TaskId, tool: &str, mut output: ToolOutput) -> Outcome {
        self.blobs.detach(&self.session, &mut output);
        let is_error = output.is_error;
        let mut content = output.content;
        if content.is_empty() {
            let text = match &output.structured {
                Some(value) => value.to_string(),
                None => "The tool ran and gave nothing back.".to_owned(),
            };
            content.push(Part::plain(text));
        }
        if is_error {
            // Some services have no word for a failed call, and nobody cites one.
            content.insert(0, Part::plain("The tool says that it failed:\n"));
            let blocks = (!output.block_list.is_empty()).then_some(output.block_list);
            return Outcome { status: "failed", content, blocks, is_error, references: None };
        }
        let mode = self.session.persona(task).map(|persona| persona.spec.reference_mode(tool));
        let mode = mode.unwrap_or(References::default().mode());
        let numbered = self.tools.pool(&self.session, task).number_as(mode, content, output.block_list);
        let blocks = (!numbered.block_list.is_empty()).then_some(numbered.block_list);
        Outcome { status: "completed", content: numbered.content, blocks, is_error, references: None }
    }
}

impl HostedSession {
    pub(crate) fn is_once(&self, task: &TaskId, name: &str) -> bool {
        let persona = self.persona(task);
        match persona.as_ref().and_then(|persona| persona.tooling(name)) {
            Some(Tooling::Ours(ours)) => ours.tool.definition().effect() == Effect::Once,
            Some(Tooling::Client { .. } | Tooling::Subagent(_) | Tooling::Handoff(_)) | None => true,
        }
    }

    /// What its agent's model reads of the numbers.
    pub(crate) fn references(&self, task: &TaskId) -> References {
        self.persona(task).map(|persona| persona.spec.references).unwrap_or_default()
    }

    /// Which of a sub-agent's sources its parent's model reads.
    pub(crate) fn source_policy(&self, parent: &TaskId) -> Keep {
        let references = self.references(parent);
        match references.mode() {
            ReferenceMode::Off => Keep::Nothing,
            ReferenceMode::Cited | ReferenceMode::All => references.keep,
        }
    }
}

impl ToolCalls {
    /// What the task can cite.
    pub(crate) fn pool(&mut self, session: &HostedSession, task: &TaskId) -> &mut Pool {
        let wrapper = session.references(task).wrapper;
        let known = session.state.tasks.iter().find(|known| known.task_id == *task);
        let items = known.map(|known| known.output.as_slice()).unwrap_or_default();
        let pool = self.pools.entry(task.clone()).or_insert_with(|| Pool::restore(wrapper, items));
        pool.with_wrapper(wrapper)
    }
}

fn push_failed(scope: &EventScope, failed: ToolFailed, duration_ms: Option<u64>, batch: &mut EventBatch) {
    batch.push(EventType::ToolFailed, scope, &ToolFailed { duration_ms, ..failed });
}
