//! The Agent Runtime standard's control-plane actions: which method each one is, and why some are none.

use riverrun_event::ErrorCode;
use serde_json::{Value, json};

use crate::edge::Problem;

/// An action of the standard.
struct Action {
    name: &'static str,
    is: Provided,
}

enum Provided {
    /// The method of our own that does the same, and its route over HTTP.
    Method(&'static str, &'static str),
    /// Why not, and what there is instead.
    Not(&'static str),
}

use Provided::{Method, Not};

const fn action(name: &'static str, is: Provided) -> Action {
    Action { name, is }
}

const RULES: &str =
    "rules are asked when a call is made; `agent.list` shows them, and `action.decide` answers what they ask";
const TRIALS: &str = "the harness that runs the trial records it: append its `benchmark.*` events";

#[rustfmt::skip]
const ACTIONS: &[Action] = &[
    action("submit_turn", Method("turn.submit", "POST /v1/sessions/{session}/turns")),
    action("interrupt_turn", Method("turn.cancel", "POST /v1/sessions/{session}/turns/{turn}/cancel")),
    action("resume_thread", Method("thread.get", "GET /v1/sessions/{session}/state")),
    action("remove_queued_turn", Method("queue.remove", "DELETE /v1/sessions/{session}/queue/{turn}")),
    action("promote_queued_turn", Method("queue.promote", "POST /v1/sessions/{session}/queue/{turn}/promote")),
    action("create_task", Method("task.create", "POST /v1/sessions/{session}/tasks")),
    action("update_task", Method("task.update", "POST /v1/sessions/{session}/tasks/{task}/update")),
    action("start_task", Method("task.start", "POST /v1/sessions/{session}/tasks/{task}/start")),
    action("append_task_progress", Method("task.progress", "POST /v1/sessions/{session}/tasks/{task}/progress")),
    action("pause_task", Method("task.pause", "POST /v1/sessions/{session}/tasks/{task}/pause")),
    action("resume_task", Method("task.resume", "POST /v1/sessions/{session}/tasks/{task}/resume")),
    action("cancel_task", Method("task.cancel", "POST /v1/sessions/{session}/tasks/{task}/cancel")),
    action("retry_task", Method("task.retry", "POST /v1/sessions/{session}/tasks/{task}/retry")),
    action("complete_task", Method("task.complete", "POST /v1/sessions/{session}/tasks/{task}/complete")),
    action("fail_task", Method("task.fail", "POST /v1/sessions/{session}/tasks/{task}/fail")),
    action("list_tasks", Method("task.list", "GET /v1/sessions/{session}/tasks")),
    action("get_task", Method("task.get", "GET /v1/tasks/{task}")),
    action("link_tasks", Method("task.link", "POST /v1/sessions/{session}/tasks/{task}/link")),
    action("unlink_tasks", Method("task.unlink", "POST /v1/sessions/{session}/tasks/{task}/unlink")),
    action("respond_action", Method("action.decide", "POST /v1/sessions/{session}/actions/{action}")),
    action("get_session", Method("session.get", "GET /v1/sessions/{session}")),
    action("get_thread_read", Method("thread.get", "GET /v1/sessions/{session}/state")),
    action("get_tool_inventory", Method("agent.list", "GET /v1/agents")),
    action("get_execution_environment", Method("environment.get", "GET /v1/sessions/{session}/environment")),
    action("spawn_subagent", Method("subagent.spawn", "POST /v1/sessions/{session}/subagents")),
    action("send_subagent_input", Method("subagent.input", "POST /v1/sessions/{session}/subagents/{task}/input")),
    action("wait_subagents", Method("subagent.wait", "GET /v1/sessions/{session}/subagents")),
    action("resume_subagent", Method("subagent.resume", "GET /v1/sessions/{session}/subagents")),
    action("close_subagent", Method("subagent.close", "POST /v1/sessions/{session}/subagents/{task}/close")),
    action("list_subagents", Method("subagent.list", "GET /v1/sessions/{session}/subagents")),
    action("evaluate_permission", Not(RULES)),
    action("resolve_permission", Not(RULES)),
    action("write_process_stdin", Method("process.write", "POST /v1/sessions/{session}/processes/{process}/stdin")),
    action("terminate_process", Method("process.terminate", "POST /v1/sessions/{session}/processes/{process}/terminate")),
    action("create_job", Method("job.create", "POST /v1/sessions/{session}/jobs")),
    action("list_jobs", Method("job.list", "GET /v1/sessions/{session}/jobs")),
    action("get_job", Method("job.get", "GET /v1/sessions/{session}/jobs/{job}")),
    action("cancel_job", Method("job.cancel", "POST /v1/sessions/{session}/jobs/{job}/cancel")),
    action("retry_job_item", Method("job.retry_item", "POST /v1/sessions/{session}/jobs/{job}/items/{item}/retry")),
    action("reconnect_channel", Method("session.follow", "GET /v1/sessions/{session}/events")),
    action("ack_events", Method("session.ack", "GET /v1/ws")),
    action("export_evidence", Method("session.evidence", "GET /v1/sessions/{session}/evidence")),
    action("export_replay", Method("session.export", "GET /v1/sessions/{session}/export")),
    action("export_review", Not("nobody reviews here; read the facts with `session.evidence` and `session.export`")),
    action("start_benchmark_trial", Not(TRIALS)),
    action("record_benchmark_reward", Not(TRIALS)),
    action("export_benchmark_trial", Method("benchmark.export", "GET /v1/sessions/{session}/benchmark")),
    action("compare_benchmark_runs", Not(TRIALS)),
];

/// The refusal of an action that the standard has and this server has not.
pub(super) fn not_provided(name: &str) -> Option<Problem> {
    let action = ACTIONS.iter().find(|action| action.name == name)?;
    let Not(why) = action.is else { return None };
    let provided = ACTIONS.iter().filter(|action| matches!(action.is, Method(..))).map(|action| action.name);
    let detail = format!("`{name}` is not provided: {why}");
    let problem = Problem::new(ErrorCode::NotProvided, detail).field("method");
    Some(problem.with("provided", provided.collect::<Vec<_>>()))
}

/// The standard's actions, as `rpc.discover` lists them.
pub(super) fn document() -> Value {
    let one = |action: &Action| match action.is {
        Method(method, route) => json!({ "action": action.name, "method": method, "route": route }),
        Not(why) => json!({ "action": action.name, "notProvided": why }),
    };
    ACTIONS.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::super::method::{self, FoundMethod};
    use super::*;
    use crate::openapi::ROUTES;

    #[test]
    fn every_action_that_is_provided_has_its_method_and_its_route() {
        for action in ACTIONS {
            let Method(name, route) = action.is else { continue };
            let (ours, theirs) = (method::find(name), method::find(action.name));
            let (Ok(ours), Ok(theirs)) = (ours, theirs) else { panic!("`{}` is no method", action.name) };
            assert!(is_same(ours, theirs), "{}", action.name);
            let (verb, path) = route.split_once(' ').unwrap_or_default();
            assert!(ROUTES.contains(&(verb, path)), "{route} is no route");
        }
    }

    fn is_same(ours: FoundMethod, theirs: FoundMethod) -> bool {
        match (ours, theirs) {
            (FoundMethod::Listed(ours), FoundMethod::Listed(theirs)) => ours.method == theirs.method,
            (FoundMethod::Operation(ours), FoundMethod::Operation(theirs)) => {
                ours.about.name == theirs.about.name
            }
            (FoundMethod::Listed(_), FoundMethod::Operation(_))
            | (FoundMethod::Operation(_), FoundMethod::Listed(_)) => false,
        }
    }

    #[test]
    fn the_guide_lists_every_action() {
        let guide = include_str!("../../../../docs/json-rpc.md");
        for action in ACTIONS {
            let row = match action.is {
                Method(ours, route) => format!("| `{}` | `{ours}` | `{route}` |", action.name),
                Not(why) => format!("| `{}` | not provided | {why} |", action.name),
            };
            assert!(guide.contains(&row), "docs/json-rpc.md has no row {row}");
        }
    }
}
