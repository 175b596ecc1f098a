//! Calls of tools: the facts of their execution, beside the items that show them.

use riverrun_event::{ToolFailed, ToolProgress, ToolResult, ToolStarted};

use super::Step;
use crate::change::Change;
use crate::problem::ProblemCode;
use crate::state::{Status, ToolCall};

impl Step<'_> {
    pub(super) fn tool_started(&mut self, started: &ToolStarted) {
        let Some(call) = self.call() else { return };
        let state = &mut self.state.tool_calls[call];
        state.status = Status::Running;
        state.tool_name = Some(started.tool_name.clone());
        state.started_at = Some(self.event.timestamp);
        state.ended_at = None;
        state.error = None;
        state.input_ref.clone_from(&started.input_ref);
        self.change(Change::ToolCall { call });
    }

    pub(super) fn tool_progress(&mut self, progress: &ToolProgress) {
        let Some(call) = self.call() else { return };
        let state = &mut self.state.tool_calls[call];
        state.progress = progress.message.clone().or(state.progress.take());
        self.change(Change::ToolCall { call });
    }

    pub(super) fn tool_result(&mut self, result: &ToolResult) {
        let Some(call) = self.call() else { return };
        let state = &mut self.state.tool_calls[call];
        state.tool_name = result.tool_name.clone().or(state.tool_name.take());
        state.preview.clone_from(&result.preview);
        state.output_ref.clone_from(&result.output_ref);
        self.tool_ended(Status::Completed);
    }

    pub(super) fn tool_failed(&mut self, failed: &ToolFailed) {
        let Some(call) = self.call() else { return };
        let state = &mut self.state.tool_calls[call];
        state.tool_name = failed.tool_name.clone().or(state.tool_name.take());
        state.error = Some(failed.error.clone());
        state.output_ref.clone_from(&failed.output_ref);
        self.tool_ended(Status::Failed);
    }

    pub(super) fn tool_ended(&mut self, status: Status) {
        let Some(call) = self.call() else { return };
        let state = &mut self.state.tool_calls[call];
        state.status = status;
        state.ended_at = Some(self.event.timestamp);
        self.change(Change::ToolCall { call });
    }

    /// The call that the envelope names; made if this is the first word about it.
    fn call(&mut self) -> Option<usize> {
        let Some(id) = &self.event.scope.tool_call_id else {
            self.problem(ProblemCode::MissingCorrelation, format!("{} without a toolCallId", self.event.kind.as_str()));
            return None;
        };
        let of_task = &self.event.scope.task_id;
        let is_it = |call: &ToolCall| call.tool_call_id == *id && (of_task.is_none() || call.task_id == *of_task);
        if let Some(call) = self.state.tool_calls.iter().rposition(is_it) {
            return Some(call);
        }
        self.state.tool_calls.push(ToolCall {
            tool_call_id: id.clone(),
            status: Status::Unknown,
            tool_name: None,
            task_id: of_task.clone(),
            turn_id: self.event.scope.turn_id.clone(),
            progress: None,
            preview: None,
            input_ref: None,
            output_ref: None,
            error: None,
            started_at: None,
            ended_at: None,
        });
        Some(self.state.tool_calls.len() - 1)
    }
}
