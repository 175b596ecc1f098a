//! The ids around an event: which thread, turn, task, run, step, call or action it belongs to.

use crate::{ActionId, RunId, StepId, TaskId, ThreadId, ToolCallId, TurnId};

/// The envelope's typed links. Absent means that it does not apply.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EventScope {
    /// The thread.
    pub thread_id: Option<ThreadId>,
    /// The turn.
    pub turn_id: Option<TurnId>,
    /// The task.
    pub task_id: Option<TaskId>,
    /// The attempt at the task.
    pub run_id: Option<RunId>,
    /// The model call of the run, with the tools that it asked for.
    pub step_id: Option<StepId>,
    /// The tool call.
    pub tool_call_id: Option<ToolCallId>,
    /// The action that somebody must decide.
    pub action_id: Option<ActionId>,
    /// The sub-agent, as its framework names it.
    pub subagent_id: Option<String>,
    /// The task that called this one.
    pub parent_task_id: Option<TaskId>,
    /// The tool call that this task answers.
    pub parent_tool_call_id: Option<ToolCallId>,
    /// How many tasks are above this one.
    pub depth: Option<u32>,
    /// The trace of the telemetry.
    pub trace_id: Option<String>,
    /// The span of the telemetry.
    pub span_id: Option<String>,
}

/// The job and the item that an event is about.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JobScope {
    /// The job.
    pub job_id: Option<String>,
    /// The item of the job.
    pub item_id: Option<String>,
}

impl EventScope {
    /// Appends `"threadId":"main","turnId":…`, each member followed by a comma, in the order of the envelope.
    pub(crate) fn write_members(&self, out: &mut String) {
        write_text(out, "threadId", self.thread_id.as_ref().map(ThreadId::as_str));
        write_text(out, "turnId", self.turn_id.as_ref().map(TurnId::as_str));
        write_text(out, "taskId", self.task_id.as_ref().map(TaskId::as_str));
        write_text(out, "runId", self.run_id.as_ref().map(RunId::as_str));
        write_text(out, "stepId", self.step_id.as_ref().map(StepId::as_str));
        write_text(out, "toolCallId", self.tool_call_id.as_ref().map(ToolCallId::as_str));
        write_text(out, "actionId", self.action_id.as_ref().map(ActionId::as_str));
        write_text(out, "subagentId", self.subagent_id.as_deref());
        write_text(out, "parentTaskId", self.parent_task_id.as_ref().map(TaskId::as_str));
        write_text(out, "parentToolCallId", self.parent_tool_call_id.as_ref().map(ToolCallId::as_str));
        if let Some(depth) = self.depth {
            out.push_str(&format!("\"depth\":{depth},"));
        }
        write_text(out, "traceId", self.trace_id.as_deref());
        write_text(out, "spanId", self.span_id.as_deref());
    }
}

fn write_text(out: &mut String, name: &str, value: Option<&str>) {
    if let Some(value) = value {
        out.push('"');
        out.push_str(name);
        out.push_str("\":");
        crate::json::write_string(out, value);
        out.push(',');
    }
}
