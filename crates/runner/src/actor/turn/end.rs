//! The end of tasks and turns: one terminal event each, tasks before their turn.

use riverrun_event::{
    Block, ErrorInfo, EventScope, EventType, Item, ItemRetracted, Part, RawJson, SubagentCompleted,
    SubagentFailed, SubagentOutput, TaskAttempt, TaskChange, TaskCompleted, TaskFailed, TaskId,
    TurnCancelled, TurnCompleted, TurnFailed, TurnId, Usage,
};
use riverrun_fold::TaskState;
use riverrun_fold::view::{answer, last_words};

use crate::CancelMode;
use crate::actor::Actor;
use crate::actor::append::blobs::BlobQueue;
use crate::actor::effects::Effects;
use crate::actor::session::HostedSession;
use crate::actor::turn::open_work::Ending;
use crate::drive::{EffectKey, Launch, OutputCheck, Tripped};
use crate::event_batch::EventBatch;
use crate::plan::TIME_PASSED;

/// The code of a task whose input or output a guardrail refused.
pub(crate) const TRIPPED: &str = "guardrail_tripped";

impl Actor {
    pub(crate) fn finish(&mut self, task: &TaskId, batch: &mut EventBatch) {
        let text = self.session.final_text(task);
        let value = match self.fitting_output(task, text.as_deref(), batch) {
            Ok(value) => value,
            Err(()) => return,
        };
        let Some((turn, view)) = self.session.view.task(task) else { return };
        let (is_root, scope) = (view.task == turn.root, view.scope.clone());
        let (cut_short, turn_id) = (view.cut_short().map(ToOwned::to_owned), turn.turn.clone());
        let usage = self.session.usage_of(task);
        batch.push(EventType::TaskAttemptCompleted, &scope, &TaskAttempt::default());
        let completed = TaskCompleted {
            reason: cut_short.clone(),
            final_output: value.clone(),
            usage: Some(usage.clone()),
            ..TaskCompleted::default()
        };
        batch.push(EventType::TaskCompleted, &scope, &completed);
        if is_root {
            let usage = self.session.turn_usage(&turn_id);
            let completed = TurnCompleted { final_output: value, usage, stop_reason: cut_short };
            batch.push(EventType::TurnCompleted, &scope, &completed);
            self.forget_turn(task);
        } else {
            let output = text
                .as_deref()
                .filter(|text| !text.is_empty())
                .map(|text| self.blobs.child_output(&self.session, text));
            if let Some(output) = output {
                batch.push(EventType::SubagentOutput, &subagent(&scope, task), &output);
            }
            let summary = text.filter(|text| text.len() <= 200);
            let status = cut_short.map(|_| "incomplete".to_owned());
            let completed =
                SubagentCompleted { status, summary, usage: Some(usage), ..SubagentCompleted::default() };
            batch.push(EventType::SubagentCompleted, &subagent(&scope, task), &completed);
        }
    }

    /// Fails the task; a root takes its turn along.
    pub(crate) fn fail_task(&mut self, task: &TaskId, code: &str, message: &str, batch: &mut EventBatch) {
        let error = ErrorInfo {
            message: message.to_owned(),
            code: Some(code.to_owned()),
            retryable: Some(code == "model_failed"),
            ..ErrorInfo::default()
        };
        self.fail_with(task, error, batch);
    }

    pub(crate) fn fail_with(&mut self, task: &TaskId, error: ErrorInfo, batch: &mut EventBatch) {
        let Some((_, view)) = self.session.view.task(task) else { return };
        // The reason comes first: readers then know that the results behind it only close open calls.
        let attempt = TaskAttempt { error: Some(error.clone()), ..TaskAttempt::default() };
        batch.push(EventType::TaskAttemptFailed, &view.scope, &attempt);
        self.close_work(task, &Ending::failed(), batch);
        let Some((turn, view)) = self.session.view.task(task) else { return };
        let (is_root, scope) = (view.task == turn.root, view.scope.clone());
        if error.code.as_deref() == Some(TIME_PASSED) {
            let reason = Some(error.message.clone());
            batch.push(EventType::TaskTimedOut, &scope, &TaskChange { reason, ..TaskChange::default() });
        } else {
            let failed = TaskFailed { error: error.clone(), status: None, reason: None };
            batch.push(EventType::TaskFailed, &scope, &failed);
        }
        if is_root {
            let usage = self.session.turn_usage(&turn.turn);
            batch.push(EventType::TurnFailed, &scope, &TurnFailed { error, usage });
            self.forget_turn(task);
        } else {
            let failed = SubagentFailed { error: Some(error), ..SubagentFailed::default() };
            batch.push(EventType::SubagentFailed, &subagent(&scope, task), &failed);
        }
    }

    /// The turn ends because somebody asked for it.
    pub(crate) fn stop_turn(&mut self, turn: &TurnId, batch: &mut EventBatch) {
        let Some(view) = self.session.view.turns.get(turn) else { return };
        let (root, cancel) = (view.root.clone(), view.cancel.clone());
        let mode = cancel.as_ref().map_or(CancelMode::Immediate, |cancel| cancel.mode);
        let reason = cancel.and_then(|cancel| cancel.reason);
        self.close_work(&root, &Ending::cancelled(reason.as_deref()), batch);
        let Some((_, task)) = self.session.view.task(&root) else { return };
        let scope = task.scope.clone();
        batch.push(
            EventType::TaskCancelled,
            &scope,
            &TaskChange { reason: reason.clone(), ..TaskChange::default() },
        );
        let mode = Some(mode_word(mode).to_owned());
        let usage = self.session.turn_usage(turn);
        batch.push(EventType::TurnCancelled, &scope, &TurnCancelled { mode, reason, usage });
        self.forget_turn(&root);
    }

    /// Nothing of a turn that has ended is at work any more.
    fn forget_turn(&mut self, root: &TaskId) {
        let Some((turn, _)) = self.session.view.task(root) else { return };
        let tasks: Vec<TaskId> = turn.tasks.iter().map(|task| task.task.clone()).collect();
        self.effects.stop_effects(|key| tasks.contains(key.task()));
        self.guardrails.vetted.retain(|(task, _)| !tasks.contains(task));
        for task in &tasks {
            self.guardrails.admitted.remove(task);
            self.guardrails.checked.remove(task);
            self.model.streams.remove(task);
            self.model.service_streams.remove(task);
            self.tools.pools.remove(task);
            self.history.compacted.remove(task);
        }
        self.effects.launches.retain(|(key, _)| !tasks.contains(key.task()));
        if self.session.view.turns.len() == 1 {
            self.hooks.texts.clear();
        }
    }

    /// What was shown and must not be is taken back before the turn fails.
    pub(crate) fn output_tripped(&mut self, task: &TaskId, tripped: &Tripped, batch: &mut EventBatch) {
        if let Some((_, view)) = self.session.view.task(task) {
            self.session.retract_words(task, &view.scope, TRIPPED, batch);
        }
        let message = format!("guardrail `{}` refused the output: {}", tripped.guardrail, tripped.reason);
        self.fail_task(task, TRIPPED, &message, batch);
    }

    pub(crate) fn input_tripped(&mut self, task: &TaskId, tripped: &Tripped, batch: &mut EventBatch) {
        if let Some(view) = self.session.view.task_mut(task) {
            // What was refused has no place in the conversation.
            view.steers_read = view.steers.len();
        }
        let message = format!("guardrail `{}` refused the input: {}", tripped.guardrail, tripped.reason);
        self.fail_task(task, TRIPPED, &message, batch);
    }
}

impl BlobQueue {
    /// What a sub-agent came to, whole if it is short.
    fn child_output(&mut self, session: &HostedSession, text: &str) -> SubagentOutput {
        const SHORT: usize = 4 << 10;
        if text.len() <= SHORT {
            return SubagentOutput { block: Some(Block::plain(text)), ..SubagentOutput::default() };
        }
        let preview = Some(riverrun_event::preview(text).to_owned());
        let output_ref = self.keep(session, text.as_bytes().to_vec(), "text/plain; charset=utf-8");
        SubagentOutput { preview, output_ref, ..SubagentOutput::default() }
    }
}

impl Effects {
    pub(crate) fn check_output(&mut self, session: &HostedSession, task: &TaskId, _page: &mut EventBatch) {
        // Also what it said before its service's own tools ran: that was shown as well.
        let known = session.known(task);
        let parts = known.into_iter().flat_map(|known| {
            last_words(known).into_iter().flat_map(|position| message_blocks(known, position))
        });
        let text = parts.filter_map(|part| part.text().map(ToOwned::to_owned)).collect();
        let Some(persona) = session.persona(task) else { return };
        let guardrails = persona.spec.guardrails.clone();
        self.launch_later(EffectKey::Check(task.clone()), Launch::Check(OutputCheck { guardrails, text }));
    }
}

impl HostedSession {
    fn known(&self, task: &TaskId) -> Option<&TaskState> {
        self.state.tasks.iter().find(|known| known.task_id == *task)
    }

    /// Takes back everything that the model said last.
    fn retract_words(&self, task: &TaskId, scope: &EventScope, reason: &str, batch: &mut EventBatch) {
        let Some(known) = self.known(task) else { return };
        for position in last_words(known) {
            let Some(item_id) = known.output[position].id().map(|id| id.into_owned()) else { continue };
            let (output_index, reason) = (u32::try_from(position).unwrap_or(u32::MAX), reason.to_owned());
            batch.push(EventType::ItemRetracted, scope, &ItemRetracted { item_id, output_index, reason });
        }
    }

    /// The blocks of the messages that the task ended with.
    pub(crate) fn final_blocks(&self, task: &TaskId) -> Option<Vec<Part>> {
        let known = self.known(task)?;
        let parts: Vec<Part> =
            answer(known).into_iter().flat_map(|position| message_blocks(known, position)).collect();
        (!parts.is_empty()).then_some(parts)
    }

    /// Their text; None if there is none, or if the model ended with calls that the caller runs.
    pub(crate) fn final_text(&self, task: &TaskId) -> Option<String> {
        let (_, view) = self.view.task(task)?;
        if view.calls.iter().any(|call| call.is_complete && call.step == view.step) {
            return None;
        }
        Some(self.final_blocks(task)?.iter().filter_map(Part::text).collect())
    }

    fn usage_of(&self, task: &TaskId) -> Usage {
        self.state
            .tasks
            .iter()
            .find(|known| known.task_id == *task)
            .map(|known| known.usage.clone())
            .unwrap_or_default()
    }

    fn turn_usage(&self, turn: &TurnId) -> Option<Usage> {
        self.state.turns.iter().find(|known| known.turn_id == *turn).map(|known| known.usage.clone())
    }
}

/// The blocks of the message at this place.
fn message_blocks(task: &TaskState, position: usize) -> Vec<Part> {
    match &task.output[position] {
        Item::Message(message) => message.block_list.clone().unwrap_or_default(),
        Item::Reasoning(_) | Item::ToolCall(_) | Item::ToolResult(_) | Item::Handoff(_) => Vec::new(),
        Item::Error(_) | Item::Hosted(_) | Item::Other(_) => Vec::new(),
    }
}

pub(crate) fn mode_word(mode: CancelMode) -> &'static str {
    match mode {
        CancelMode::Immediate => "immediate",
        CancelMode::AfterTurn => "after_turn",
    }
}

/// Events about a sub-agent name it; it is known by its task.
pub(crate) fn subagent(scope: &riverrun_event::EventScope, task: &TaskId) -> riverrun_event::EventScope {
    riverrun_event::EventScope { subagent_id: Some(task.as_str().to_owned()), ..scope.clone() }
}

impl Actor {
    /// The output in the form that the agent promises. Err: the model is asked once more, or the task has failed.
    fn fitting_output(
        &mut self,
        task: &TaskId,
        text: Option<&str>,
        batch: &mut EventBatch,
    ) -> Result<Option<RawJson>, ()> {
        let Some(text) = text else { return Ok(None) };
        let plain = || RawJson::of(text).ok();
        let Some(persona) = self.session.persona(task).filter(|persona| !persona.is_gateway) else {
            return Ok(plain());
        };
        let Some(schema) = persona.output_schema() else { return Ok(plain()) };
        let problem = match serde_json::from_str::<serde_json::Value>(text) {
            Ok(value) => match crate::schema::check(schema, &value) {
                Ok(()) => return Ok(RawJson::of(&value).ok()),
                Err(problem) => problem,
            },
            Err(error) => format!("it is not JSON: {error}"),
        };
        self.misfit(task, &problem, batch);
        Err(())
    }

    fn misfit(&mut self, task: &TaskId, problem: &str, batch: &mut EventBatch) {
        let Some((_, view)) = self.session.view.task(task) else { return };
        let (scope, repairs) = (view.step_scope(), view.repairs);
        if repairs > 0 {
            let message = format!("the final output does not fit its schema: {problem}");
            return self.fail_task(task, "output_mismatch", &message, batch);
        }
        self.session.retract_words(task, &scope, "output_mismatch", batch);
        let notice = riverrun_event::RuntimeNotice {
            code: Some("output_mismatch".to_owned()),
            message: Some(problem.to_owned()),
            ..riverrun_event::RuntimeNotice::default()
        };
        batch.push(EventType::RuntimeWarning, &scope, &notice);
    }
}
