//! The part of a task that lifecycle frames carry and that stands before `output` in its object.

use riverrun_event::{ErrorInfo, json};
use riverrun_fold::{ActionState, ActionStatus, Status, TaskState};

use super::block::write_flag;
use super::status::word;
use crate::members::{Members, write_list};

/// Writes the summary's members. `status` may be told otherwise than the task's own.
pub(super) fn write_summary(
    members: &mut Members<'_>,
    task: &TaskState,
    actions: &[ActionState],
    status: Status,
) {
    let word = word(status);
    members.text("task_id", task.task_id.as_str());
    members.text("status", word.status);
    if !word.is_exact {
        members.text("native_status", status.as_str());
    }
    members.maybe_text("parent_task_id", task.parent_task_id.as_ref().map(|id| id.as_str()));
    members.maybe_text("parent_call_id", task.parent_tool_call_id.as_ref().map(|id| id.as_str()));
    if word.status == "input-required" {
        members.with("input_required_call_ids", |out| {
            write_list(out, waiting_calls(task, actions), json::write_string);
        });
    }
    if let Some(error) = task.error.as_ref().filter(|_| word.status == "failed") {
        members.with("error", |out| write_error(out, error));
    }
}

/// The calls that wait for a decision, in this task or in one below it: they are told on the outermost task.
fn waiting_calls<'a>(task: &'a TaskState, actions: &'a [ActionState]) -> impl Iterator<Item = &'a str> {
    let is_waited_for = |action: &&ActionState| {
        action.status == ActionStatus::Pending && action.root_task_id.as_ref() == Some(&task.task_id)
    };
    actions
        .iter()
        .filter(is_waited_for)
        .filter_map(|action| action.tool_call_id.as_ref())
        .map(|id| id.as_str())
}

fn write_error(out: &mut String, error: &ErrorInfo) {
    let mut members = Members::open(out);
    members.maybe_text("code", error.code.as_deref());
    members.text("message", &error.message);
    members.maybe_text("category", error.category.as_deref());
    write_flag(&mut members, "retryable", error.retryable);
    members.close();
}
