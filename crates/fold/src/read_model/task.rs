//! Tasks: what is to be reached, how often it was tried, what stands in the way.

use std::collections::BTreeMap;

use riverrun_event::{ErrorInfo, RunId, TaskId, Timestamp, TurnId};
use serde::Serialize;
use serde_json::Value;

use super::standing::Coverage;
use super::strict::{attempt_status, native, task_status};
use crate::state::{AttemptState, State, TaskState};
use crate::status::Status;

/// Each task with its attempts.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskSnapshot {
    /// How well they are known.
    pub standing: Coverage,
    /// How many tasks stand where, by the standard's status.
    pub task_summary: BTreeMap<&'static str, usize>,
    /// The tasks, parents before children.
    pub tasks: Vec<TaskRead>,
    /// Edges that were told beside parent and child, in the order of the log.
    pub task_graph: Vec<Value>,
    /// Tasks that cannot go on.
    pub blocked_tasks: Vec<TaskId>,
    /// `unknown` unless a task told it.
    pub delivery_state: String,
}

/// The standard's task.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskRead {
    /// The task.
    pub task_id: TaskId,
    /// Its status in the standard's words.
    pub status: &'static str,
    /// Its status in ours, where that says more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub native_status: Option<&'static str>,
    /// The task that called it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_task_id: Option<TaskId>,
    /// Its turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    /// A name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is to reach.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objective: Option<String>,
    /// Why it has this status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_reason: Option<String>,
    /// The run at work, or the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_run_id: Option<RunId>,
    /// Its runs, in order.
    pub attempts: Vec<AttemptRead>,
    /// Why its last run failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<ErrorInfo>,
    /// When it was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
}

/// One run of a task.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AttemptRead {
    /// `unknown` if no event named the run.
    pub run_id: String,
    /// Its status in the standard's words.
    pub status: &'static str,
    /// Its status in ours, where that says more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub native_status: Option<&'static str>,
    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<ErrorInfo>,
}

pub fn task_snapshot(state: &State) -> TaskSnapshot {
    let mut summary = BTreeMap::new();
    for task in &state.tasks {
        *summary.entry(task_status(task.status)).or_default() += 1;
    }
    let is_blocked = |task: &&TaskState| task.status == Status::Blocked || task.status.is_waiting();
    TaskSnapshot {
        standing: Coverage::of(state, "task_snapshot", !state.tasks.is_empty()),
        task_summary: summary,
        tasks: tasks(state),
        task_graph: edges(state),
        blocked_tasks: state.tasks.iter().filter(is_blocked).map(|task| task.task_id.clone()).collect(),
        delivery_state: delivery_state(state).unwrap_or_else(|| "unknown".to_owned()),
    }
}

pub fn tasks(state: &State) -> Vec<TaskRead> {
    state.tasks.iter().map(read).collect()
}

fn read(task: &TaskState) -> TaskRead {
    let strict = task_status(task.status);
    TaskRead {
        task_id: task.task_id.clone(),
        status: strict,
        native_status: native(task.status, strict),
        parent_task_id: task.parent_task_id.clone(),
        turn_id: task.turn_id.clone(),
        title: task.title.clone(),
        objective: task.objective.clone(),
        status_reason: task.status_reason.clone(),
        current_run_id: task.run_id.clone(),
        attempts: task.attempts.iter().map(attempt).collect(),
        last_error: task.error.clone(),
        created_at: task.created_at,
        ended_at: task.ended_at,
    }
}

fn attempt(attempt: &AttemptState) -> AttemptRead {
    let strict = attempt_status(attempt.status);
    AttemptRead {
        run_id: attempt.run_id.as_ref().map_or_else(|| "unknown".to_owned(), RunId::to_string),
        status: strict,
        native_status: native(attempt.status, strict),
        started_at: attempt.started_at,
        ended_at: attempt.ended_at,
        last_error: attempt.error.clone(),
    }
}

/// The edges that stand, each with the task that it leads from.
fn edges(state: &State) -> Vec<Value> {
    let entries = state.ledger.family("task").into_iter().flat_map(|family| &family.entries);
    let edges =
        entries.filter(|entry| matches!(entry.kind.as_str(), "task.dependency.updated" | "task.delegated"));
    let edges = edges.filter_map(|entry| {
        let mut edge: Value = entry.payload.as_ref()?.to().ok()?;
        // The key of an entry is its type, its task, the edge's other end and its kind.
        let task = entry.key.split(' ').nth(1)?;
        edge.as_object_mut()?.insert("taskId".to_owned(), task.into());
        Some(edge)
    });
    edges.filter(|edge| edge["status"] != "removed").collect()
}

fn delivery_state(state: &State) -> Option<String> {
    let mut entries =
        state.ledger.family("task")?.entries.iter().rev().filter(|entry| entry.kind == "task.progress");
    entries
        .find_map(|entry| entry.payload.as_ref()?.to::<riverrun_event::TaskProgress>().ok()?.delivery_state)
}
