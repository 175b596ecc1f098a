//! What a run waits for: questions to people, and calls that the application runs.

use riverrun_event::{ActionRequired, ActionResolved};
use riverrun_fold::{ActionState, State};
use serde_json::Value;

use super::frame::Interrupt;
use super::identity::subagent;
use crate::follow::is_client_run;

pub(super) fn interrupt(state: &State, action: &ActionState) -> Interrupt {
    let request: ActionRequired = action.request.to().unwrap_or_default();
    let raw: Value = action.request.to().unwrap_or_default();
    let task = action.task_id.as_ref().and_then(|id| state.tasks.iter().position(|task| task.task_id == *id));
    let reason = match request.action_type.as_str() {
        "tool_permission" | "tool_approval" | "approval" | "permission" => "tool_approval",
        "" => "input_required",
        other => other,
    };
    Interrupt {
        id: action.action_id.to_string(),
        reason: reason.to_owned(),
        message: request.prompt,
        tool_call_id: action.tool_call_id.as_ref().map(ToString::to_string),
        response_schema: request.schema.and_then(|schema| schema.to().ok()),
        expires_at: request.expires_at,
        metadata: raw.as_object().filter(|members| !members.is_empty()).map(|_| raw.clone()),
        subagent_run_id: task.and_then(|task| subagent(state, task)),
    }
}

/// True if the client sent the result itself; emitting it again would duplicate it.
pub(super) fn is_held_by_client(state: &State, call: &str) -> bool {
    let is_answered = |action: &&ActionState| {
        let resolution = action.resolution.as_ref().and_then(|raw| raw.to::<ActionResolved>().ok());
        resolution.is_some_and(|resolution| resolution.source.as_deref() == Some("person"))
    };
    let of_call = |action: &&ActionState| action.tool_call_id.as_ref().is_some_and(|id| id.as_str() == call);
    state.actions.iter().filter(of_call).any(|action| is_client_run(action) && is_answered(&action))
}
