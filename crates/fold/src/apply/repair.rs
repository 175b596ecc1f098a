//! A snapshot in the log may correct what events told. It never erases a pending action or a failed call.

use riverrun_event::{ActionId, ErrorInfo, RawJson, SnapshotInfo, TaskId, ThreadId, ToolCallId, TurnId};
use serde::Deserialize;

use super::Step;
use crate::change::Change;
use crate::problem::ProblemCode;
use crate::state::{ActionState, ActionStatus};
use crate::status::Status;

/// What we take from the standard's snapshot; the rest is shown as it was told.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Correction {
    threads: Vec<ThreadCorrection>,
    tasks: Vec<TaskCorrection>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ThreadCorrection {
    #[serde(alias = "thread_id")]
    thread_id: ThreadId,
    status: String,
    #[serde(default, alias = "pending_requests")]
    pending_requests: Vec<RawJson>,
    #[serde(default, alias = "tool_calls")]
    tool_calls: Vec<RawJson>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TaskCorrection {
    #[serde(alias = "task_id")]
    task_id: TaskId,
    status: String,
    title: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PendingRequest {
    #[serde(alias = "action_id")]
    action_id: ActionId,
    #[serde(alias = "turn_id")]
    turn_id: Option<TurnId>,
    #[serde(alias = "task_id")]
    task_id: Option<TaskId>,
    #[serde(alias = "tool_call_id")]
    tool_call_id: Option<ToolCallId>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct FailedCall {
    #[serde(alias = "tool_call_id")]
    tool_call_id: ToolCallId,
    status: String,
    #[serde(alias = "tool_name")]
    tool_name: Option<String>,
    #[serde(alias = "turn_id")]
    turn_id: Option<TurnId>,
    error: Option<ErrorInfo>,
}

impl Step<'_> {
    /// The union of both sides: statuses and titles are the snapshot's, pending actions and failed calls are ours
    /// and the snapshot's.
    pub(super) fn snapshot(&mut self, info: &SnapshotInfo) {
        let correction = match info.snapshot.as_ref().map(RawJson::to::<Correction>) {
            Some(Ok(correction)) => correction,
            Some(Err(error)) => {
                self.problem(ProblemCode::Malformed, format!("payload.snapshot: {error}"));
                Correction::default()
            }
            None => Correction::default(),
        };
        for correction in correction.threads {
            self.correct_thread(correction);
        }
        for correction in correction.tasks {
            self.correct_task(correction);
        }
        self.ledger();
    }

    fn correct_thread(&mut self, correction: ThreadCorrection) {
        let thread = self.thread_of(correction.thread_id);
        if let Some(status) = Status::parse(&correction.status) {
            self.state.threads[thread].status = status;
            self.change(Change::Thread { thread });
        }
        for request in correction.pending_requests {
            if let Ok(pending) = request.to::<PendingRequest>() {
                self.add_pending(pending, request);
            }
        }
        for call in correction.tool_calls {
            if let Ok(call) = call.to::<FailedCall>() {
                self.add_failed_call(call);
            }
        }
    }

    fn add_pending(&mut self, pending: PendingRequest, request: RawJson) {
        if self.state.index.actions.contains_key(&pending.action_id) {
            return;
        }
        let task = pending.task_id.as_ref().and_then(|task| self.state.index.tasks.get(task).copied());
        let root = task.map(|task| self.state.tasks[self.root_of(task)].task_id.clone());
        self.push_action(ActionState {
            action_id: pending.action_id,
            status: ActionStatus::Pending,
            sequence: self.event.sequence,
            required_at: self.event.timestamp,
            request,
            turn_id: pending.turn_id,
            task_id: pending.task_id,
            root_task_id: root,
            tool_call_id: pending.tool_call_id,
            resolved_at: None,
            resolution: None,
        });
    }

    fn add_failed_call(&mut self, correction: FailedCall) {
        if correction.status != "failed" || self.state.index.calls.contains_key(&correction.tool_call_id) {
            return;
        }
        let call = self.new_call(correction.tool_call_id);
        let state = &mut self.state.tool_calls[call];
        state.status = Status::Failed;
        state.tool_name = correction.tool_name;
        state.turn_id = correction.turn_id.or(state.turn_id.take());
        state.error = correction.error;
        self.change(Change::ToolCall { call });
    }

    fn correct_task(&mut self, correction: TaskCorrection) {
        let Some(task) = self.state.index.tasks.get(&correction.task_id).copied() else { return };
        let state = &mut self.state.tasks[task];
        state.title = correction.title.or(state.title.take());
        let status = Status::parse(&correction.status).unwrap_or(state.status);
        if status.is_terminal() && !state.status.is_terminal() {
            return self.end_task(task, status);
        }
        if !status.is_terminal() {
            state.ended_at = None;
        }
        state.status = status;
        self.change(Change::TaskStatus { task });
    }
}
