//! The standard's session snapshot.

use std::collections::BTreeMap;

use riverrun_event::{
    LIME_SCHEMA_VERSION, RUNTIME_ID, SCHEMA_VERSION, Sequence, SessionId, Timestamp, Usage,
};
use serde::Serialize;

use super::standing::{Coverage, RecentFacts};
use super::summary::{RoutingLimits, SubagentsAndJobs, routing_limits, subagents_and_jobs};
use super::task::{TaskRead, task_snapshot};
use super::thread::{ThreadRead, standing, threads, unknown_thread};
use crate::state::State;
use crate::status::Status;

/// The whole session at a glance.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionSnapshot {
    /// The version of the read models.
    pub schema_version: &'static str,
    /// Only in the form of the Lime profile: the installation that the snapshot came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime_id: Option<&'static str>,
    /// The session.
    pub session_id: String,
    /// The last event that it holds; a reader goes on after it.
    pub sequence: Sequence,
    /// Its status.
    pub status: Status,
    /// A name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// When it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// When the last event happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
    /// How well the session is known.
    pub standing: Coverage,
    /// True if older turns were sealed and are read on demand.
    pub truncated: bool,
    /// Its threads.
    pub threads: Vec<ThreadRead>,
    /// Its tasks.
    pub tasks: Vec<TaskRead>,
    /// Tasks by status.
    pub task_summary: BTreeMap<&'static str, usize>,
    /// Tasks that cannot go on, and why.
    pub blocked_tasks: Vec<BlockedTask>,
    /// Routing, limits, tokens and cost.
    pub routing_limit_summary: RoutingLimits,
    /// Sub-agents and jobs.
    pub subagent_job_summary: SubagentsAndJobs,
    /// Channels.
    pub channel_summary: RecentFacts,
    /// Traces.
    pub telemetry_summary: Telemetry,
    /// Ids of the evidence that was told.
    pub evidence_refs: Vec<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BlockedTask {
    pub task_id: riverrun_event::TaskId,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Telemetry {
    pub usage: Usage,
    /// The fold keeps no trace ids, so it cannot say that spans join.
    pub join_status: &'static str,
}

/// The snapshot of a state.
pub fn snapshot(state: &State) -> SessionSnapshot {
    let tasks = task_snapshot(state);
    let evidence = state.ledger.family("evidence").into_iter().flat_map(|family| &family.entries);
    SessionSnapshot {
        schema_version: SCHEMA_VERSION,
        runtime_id: None,
        session_id: state.session_id.as_ref().map_or_else(|| "unknown".to_owned(), SessionId::to_string),
        sequence: state.sequence,
        status: state.session.status,
        title: state.session.title.clone(),
        created_at: state.session.created_at,
        updated_at: state.updated_at,
        standing: standing(state),
        truncated: state.sealed_turns > 0,
        threads: threads(state),
        tasks: tasks.tasks,
        task_summary: tasks.task_summary,
        blocked_tasks: tasks.blocked_tasks.into_iter().map(|task_id| BlockedTask { task_id }).collect(),
        routing_limit_summary: routing_limits(state),
        subagent_job_summary: subagents_and_jobs(state),
        channel_summary: RecentFacts::of(state, "channel_summary", &["channel"]),
        telemetry_summary: Telemetry { usage: state.usage.clone(), join_status: "unknown" },
        evidence_refs: evidence.map(|entry| entry.key.clone()).collect(),
    }
}

/// The snapshot in the form of the Lime profile, which demands a runtime, a time and a thread. `created_at` is the time
/// of a session without events.
pub fn lime_snapshot(state: &State, created_at: Timestamp) -> SessionSnapshot {
    let mut snapshot = snapshot(state);
    snapshot.schema_version = LIME_SCHEMA_VERSION;
    snapshot.runtime_id = Some(RUNTIME_ID);
    snapshot.updated_at.get_or_insert(created_at);
    if snapshot.threads.is_empty() {
        snapshot.threads.push(unknown_thread(state));
    }
    snapshot
}
