//! The standard's fourteen read models, as far as events feed them.
//!
//! Each says how well it is known. What no event told is `unknown`, what does not apply to a session is
//! `not_applicable`, and what a snapshot marked stays marked: nothing here is a success by default.

mod snapshot;
mod standing;
mod strict;
mod summary;
mod task;
mod thread;

use riverrun_event::ToolDescription;
use serde::Serialize;

pub use snapshot::{SessionSnapshot, lime_snapshot, snapshot};
pub use standing::{Coverage, RecentFacts};
pub use summary::{
    BenchmarkSummary, ExecutionEnvironment, PermissionSandbox, RoutingLimits, SubagentsAndJobs,
};
pub use task::{AttemptRead, TaskRead, TaskSnapshot};
pub use thread::{PendingRequest, ThreadRead, TurnRead};

use crate::state::{QueuedTurnState, State};
use crate::status::Status;
use crate::view::tool_inventory;

/// All of them, for one session.
#[derive(Debug, Serialize)]
pub struct ReadModels {
    /// The whole session at a glance.
    pub session_snapshot: SessionSnapshot,
    /// Each thread with its turns.
    pub thread_read_model: Vec<ThreadRead>,
    /// The tools that can be called.
    pub tool_inventory_snapshot: ToolInventory,
    /// The turns that wait.
    pub queue_snapshot: QueueSnapshot,
    /// Each task with its attempts.
    pub task_snapshot: TaskSnapshot,
    /// Where the model's context begins.
    pub context_boundary_snapshot: RecentFacts,
    /// Artifacts and checkpoints.
    pub artifact_checkpoint_summary: RecentFacts,
    /// Evidence.
    pub evidence_summary: RecentFacts,
    /// Permissions, sandbox, policy and hooks.
    pub permission_sandbox_summary: PermissionSandbox,
    /// Processes.
    pub execution_environment_snapshot: ExecutionEnvironment,
    /// Routing, limits, tokens and cost.
    pub routing_limit_summary: RoutingLimits,
    /// Sub-agents and jobs.
    pub subagent_job_summary: SubagentsAndJobs,
    /// Benchmarks.
    pub benchmark_summary: BenchmarkSummary,
    /// Channels.
    pub channel_summary: RecentFacts,
}

/// The tools that can be called.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolInventory {
    /// How well they are known.
    pub standing: Coverage,
    /// The tools.
    pub tools: Vec<ToolDescription>,
}

/// The turns that wait.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueSnapshot {
    /// How well they are known.
    pub standing: Coverage,
    /// The turns, in order.
    pub queued: Vec<QueuedTurnState>,
}

/// All read models of a state.
pub fn read_models(state: &State) -> ReadModels {
    let facts = |model: &str, family: &str| RecentFacts::of(state, model, &[family]);
    ReadModels {
        session_snapshot: snapshot(state),
        thread_read_model: thread::threads(state),
        tool_inventory_snapshot: tools(state),
        queue_snapshot: queue(state),
        task_snapshot: task::task_snapshot(state),
        context_boundary_snapshot: facts("context_boundary_snapshot", "context"),
        artifact_checkpoint_summary: RecentFacts::of(
            state,
            "artifact_checkpoint_summary",
            &["artifact", "output"],
        ),
        evidence_summary: facts("evidence_summary", "evidence"),
        permission_sandbox_summary: summary::permission_sandbox(state),
        execution_environment_snapshot: summary::execution_environment(state),
        routing_limit_summary: summary::routing_limits(state),
        subagent_job_summary: summary::subagents_and_jobs(state),
        benchmark_summary: summary::benchmark(state),
        channel_summary: facts("channel_summary", "channel"),
    }
}

fn tools(state: &State) -> ToolInventory {
    let tools = tool_inventory(state);
    let standing = Coverage::of(state, "tool_inventory_snapshot", tools.is_some());
    ToolInventory { standing, tools: tools.unwrap_or_default() }
}

/// The queue is told by `queue.changed`, and by turns that were submitted as queued.
fn queue(state: &State) -> QueueSnapshot {
    let waiting = state.turns.iter().filter(|turn| turn.status == Status::Queued);
    let entry = |turn: &crate::state::TurnState| QueuedTurnState {
        turn_id: turn.turn_id.to_string(),
        position: None,
        preview: None,
    };
    let queued = if state.queue.is_empty() { waiting.map(entry).collect() } else { state.queue.clone() };
    QueueSnapshot { standing: Coverage::of(state, "queue_snapshot", !state.turns.is_empty()), queued }
}

#[cfg(test)]
mod tests;
