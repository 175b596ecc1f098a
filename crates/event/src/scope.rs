//! The ids around an event: which thread, turn, task, run, step, call or action it belongs to.

use crate::{ActionId, RunId, StepId, TaskId, ThreadId, ToolCallId, TurnId};

/// The envelope's typed links. Absent means that it does not apply.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scope {
    pub thread_id: Option<ThreadId>,
    pub turn_id: Option<TurnId>,
    pub task_id: Option<TaskId>,
    pub run_id: Option<RunId>,
    pub step_id: Option<StepId>,
    pub tool_call_id: Option<ToolCallId>,
    pub action_id: Option<ActionId>,
    pub subagent_id: Option<String>,
    pub parent_task_id: Option<TaskId>,
    pub parent_tool_call_id: Option<ToolCallId>,
    pub depth: Option<u32>,
    pub trace_id: Option<String>,
    pub span_id: Option<String>,
}

/// The job and the item that an event is about.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JobScope {
    pub job_id: Option<String>,
    pub item_id: Option<String>,
}

impl Scope {
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
