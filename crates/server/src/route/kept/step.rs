//! A command as the events that it appends.

use riverrun_event::{RunId, TaskId};
use riverrun_fold::{JobState, Jobs, Status, TaskState};
use serde_json::{Map, Value, json};

use super::verb::Verb;

/// The events of a command on `task`. `below` are the tasks under it that have not ended, parents first.
pub(super) fn events(
    verb: Verb,
    task: &TaskState,
    below: &[&TaskState],
    mut payload: Map<String, Value>,
    run: &RunId,
) -> Vec<Value> {
    let attempt = || task.attempts.len() + 1;
    match verb {
        Verb::Update => vec![event("task.updated", task, payload)],
        Verb::Progress => vec![event("task.progress", task, payload)],
        Verb::Pause => vec![event("task.paused", task, payload)],
        Verb::Resume => vec![event("task.resumed", task, payload)],
        Verb::Archive => vec![event("task.archived", task, payload)],
        Verb::Link | Verb::Unlink => {
            let status = if verb == Verb::Link { "active" } else { "removed" };
            payload.insert("status".to_owned(), status.into());
            vec![event("task.dependency.updated", task, payload)]
        }
        Verb::Start => vec![begun(task, run, attempt()), of_run(event("task.started", task, payload), run)],
        Verb::Retry => vec![event("task.retrying", task, payload), begun(task, run, attempt())],
        Verb::Complete => ended("task.attempt.completed", None, event("task.completed", task, payload), task),
        Verb::Fail => {
            let error = payload.get("error").cloned();
            ended("task.attempt.failed", error, event("task.failed", task, payload), task)
        }
        Verb::Cancel => cancelled(task, below, &payload),
    }
}

fn event(kind: &str, task: &TaskState, payload: Map<String, Value>) -> Value {
    json!({ "type": kind, "taskId": task.task_id, "payload": payload })
}

fn of_run(mut event: Value, run: &RunId) -> Value {
    event["runId"] = json!(run);
    event
}

fn begun(task: &TaskState, run: &RunId, attempt: usize) -> Value {
    let payload = json!({ "attempt": attempt, "status": "running" });
    of_run(json!({ "type": "task.attempt.started", "taskId": task.task_id, "payload": payload }), run)
}

/// The attempt ends before its task.
fn ended(kind: &str, error: Option<Value>, end: Value, task: &TaskState) -> Vec<Value> {
    let open = task.attempts.iter().rev().find(|attempt| !attempt.status.is_terminal());
    let Some(run) = open.and_then(|attempt| attempt.run_id.as_ref()) else { return vec![end] };
    let mut payload = json!({ "status": if error.is_some() { "failed" } else { "completed" } });
    if let Some(error) = error {
        payload["error"] = error;
    }
    let attempt = json!({ "type": kind, "taskId": task.task_id, "payload": payload });
    vec![of_run(attempt, run), of_run(end, run)]
}

/// All intents first, then the ends, children before their parents.
fn cancelled(task: &TaskState, below: &[&TaskState], payload: &Map<String, Value>) -> Vec<Value> {
    let all = || std::iter::once(task).chain(below.iter().copied());
    let intents = all().map(|task| event("task.cancel_requested", task, payload.clone()));
    let ends: Vec<_> = all().map(|task| event("task.cancelled", task, payload.clone())).collect();
    intents.chain(ends.into_iter().rev()).collect()
}

/// The jobs that work for tasks which are cancelled end with them.
pub(super) fn cancelled_jobs(
    jobs: &Jobs,
    task: &TaskState,
    below: &[&TaskState],
    reason: Option<&Value>,
) -> Vec<Value> {
    let is_of = |job: &JobState, task: &TaskState| job.task_id.as_ref() == Some(&task.task_id);
    let open = jobs.entries.iter().filter(|job| !job.status.is_terminal());
    let open = open.filter(|job| is_of(job, task) || below.iter().any(|task| is_of(job, task)));
    let cancelled = |job: &JobState| {
        let mut payload = json!({ "status": "cancelled" });
        if let Some(reason) = reason {
            payload["reason"] = reason.clone();
        }
        json!({ "type": "job.cancelled", "jobId": job.job_id, "payload": payload })
    };
    open.map(cancelled).collect()
}

/// The tasks under `root` that have not ended, parents before their children.
pub(super) fn open_below<'a>(tasks: &'a [TaskState], root: &TaskId) -> Vec<&'a TaskState> {
    let mut found: Vec<&TaskState> = Vec::new();
    let mut above = vec![root];
    while let Some(parent) = above.pop() {
        // A child stands once in the state and has one parent, so this ends.
        for child in tasks.iter().filter(|task| task.parent_task_id.as_ref() == Some(parent)) {
            above.push(&child.task_id);
            if !child.status.is_terminal() && child.status != Status::Archived {
                found.push(child);
            }
        }
    }
    found
}
