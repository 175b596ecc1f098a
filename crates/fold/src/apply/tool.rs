//! Calls of tools: the facts of their execution, beside the items that show them.

use riverrun_event::{ToolCallId, ToolFailed, ToolProgress, ToolResult, ToolStarted};

use super::Step;
use crate::change::Change;
use crate::problem::ProblemCode;
use crate::state::ToolCall;
use crate::status::Status;

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
        let Some(call) = self.ending_call() else { return };
        let state = &mut self.state.tool_calls[call];
        state.preview.clone_from(&result.preview);
        state.output_ref.clone_from(&result.output_ref);
        self.end_call(call, Status::Completed, &result.tool_name);
    }

    pub(super) fn tool_failed(&mut self, failed: &ToolFailed) {
        let Some(call) = self.ending_call() else { return };
        let state = &mut self.state.tool_calls[call];
        state.error = Some(failed.error.clone());
        state.output_ref.clone_from(&failed.output_ref);
        self.end_call(call, Status::Failed, &failed.tool_name);
    }

    pub(super) fn tool_ended(&mut self, status: Status, tool_name: &Option<String>) {
        let Some(call) = self.ending_call() else { return };
        self.end_call(call, status, tool_name);
    }

    fn end_call(&mut self, call: usize, status: Status, tool_name: &Option<String>) {
        let state = &mut self.state.tool_calls[call];
        state.tool_name = tool_name.clone().or(state.tool_name.take());
        state.status = status;
        state.ended_at = Some(self.event.timestamp);
        self.change(Change::ToolCall { call });
    }

    /// The call that ends now. The first end wins, unless the call is started again.
    fn ending_call(&mut self) -> Option<usize> {
        let call = self.call()?;
        let state = &self.state.tool_calls[call];
        if state.status.is_terminal() {
            let detail = format!("call `{}` was {} before", state.tool_call_id, state.status.as_str());
            self.problem(ProblemCode::AlreadyEnded, detail);
            return None;
        }
        Some(call)
    }

    /// The call that the envelope names; made if this is the first word about it.
    pub(super) fn call(&mut self) -> Option<usize> {
        let Some(id) = self.event.scope.tool_call_id.clone() else {
            self.problem(
                ProblemCode::MissingCorrelation,
                format!("{} without a toolCallId", self.event.kind.as_str()),
            );
            return None;
        };
        if self.is_after_the_end() {
            return None;
        }
        match self.known_call(&id) {
            Some(call) => Some(call),
            None => Some(self.new_call(id)),
        }
    }

    /// A word that names no task is about the newest call with the id. A call that had no task gets it now.
    fn known_call(&mut self, id: &ToolCallId) -> Option<usize> {
        let Some(task_id) = self.event.scope.task_id.clone() else {
            return self.state.index.calls.get(id).copied();
        };
        let index = &mut self.state.index.calls_of_tasks;
        let exact = (id.clone(), Some(task_id));
        if let Some(call) = index.get(&exact) {
            return Some(*call);
        }
        let call = index.remove(&(id.clone(), None))?;
        self.state.tool_calls[call].task_id.clone_from(&exact.1);
        index.insert(exact, call);
        Some(call)
    }

    pub(super) fn new_call(&mut self, id: ToolCallId) -> usize {
        let task_id = self.event.scope.task_id.clone();
        let call = self.state.tool_calls.len();
        self.state.index.calls.insert(id.clone(), call);
        self.state.index.calls_of_tasks.insert((id.clone(), task_id.clone()), call);
        self.state.tool_calls.push(ToolCall {
            tool_call_id: id,
            status: Status::Unknown,
            tool_name: None,
            task_id,
            turn_id: self.event.scope.turn_id.clone(),
            progress: None,
            preview: None,
            input_ref: None,
            output_ref: None,
            error: None,
            started_at: None,
            ended_at: None,
            hooks: Vec::new(),
        });
        call
    }
}
