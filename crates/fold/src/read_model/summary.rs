//! Summaries of the families that are kept as they were told.

use std::collections::BTreeMap;

use riverrun_event::{TaskId, Usage};
use serde::Serialize;

use super::standing::{Coverage, RecentFacts};
use crate::benchmark::Benchmarks;
use crate::job::JobState;
use crate::process::{Process, Processes};
use crate::state::State;
use crate::status::Status;

/// What may be done, and the walls around it: three facts that are told apart.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionSandbox {
    /// Permissions that were asked for and given.
    pub permissions: RecentFacts,
    /// The sandbox.
    pub sandbox: RecentFacts,
    /// Rules that decide without asking.
    pub policy: RecentFacts,
    /// Hooks that ran.
    pub hooks: RecentFacts,
}

/// What tools run in.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecutionEnvironment {
    /// Stale if a process was last told to run in a turn that is over: nobody knows whether it still does.
    pub standing: Coverage,
    /// Processes.
    pub processes: ProcessesRead,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessesRead {
    pub standing: Coverage,
    pub entries: Vec<Process>,
    /// True if older processes were dropped; the log still has them.
    pub truncated: bool,
}

/// Which models are called, and what that costs.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RoutingLimits {
    /// Blocked while the last word on a quota is that it is used up.
    pub standing: Coverage,
    /// Choices of a model.
    pub routing: RecentFacts,
    /// Limits and quotas.
    pub limits: RecentFacts,
    /// Tokens so far.
    pub usage: Usage,
    /// How well the cost is known.
    pub cost_standing: Coverage,
    /// Cost so far, by currency.
    pub cost: BTreeMap<String, f64>,
}

/// Work that was given to others.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SubagentsAndJobs {
    /// How well it is known.
    pub standing: Coverage,
    /// Tasks that work for another task.
    pub child_tasks: Vec<ChildTask>,
    /// Sub-agents.
    pub subagents: RecentFacts,
    /// Jobs.
    pub jobs: RecentFacts,
    /// The newest jobs with their items.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub job_list: Vec<JobState>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChildTask {
    pub task_id: TaskId,
    pub parent_task_id: TaskId,
    pub status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// What was recorded of benchmarks.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BenchmarkSummary {
    /// `not_applicable` for a session that is no trial.
    pub standing: Coverage,
    /// The newest events about benchmarks.
    pub facts: RecentFacts,
    /// The same, joined by trial.
    #[serde(skip_serializing_if = "Benchmarks::is_empty")]
    pub recorded: Benchmarks,
}

pub fn permission_sandbox(state: &State) -> PermissionSandbox {
    let facts = |family: &str| RecentFacts::of(state, "permission_sandbox_summary", &[family]);
    PermissionSandbox {
        permissions: facts("permission"),
        sandbox: facts("sandbox"),
        policy: facts("policy"),
        hooks: facts("hook"),
    }
}

pub fn execution_environment(state: &State) -> ExecutionEnvironment {
    let Processes { entries, dropped } = state.processes.clone();
    let standing = Coverage::of(state, "execution_environment_snapshot", !state.processes.is_empty());
    let processes = ProcessesRead { standing, entries, truncated: dropped > 0 };
    let is_over = |turn: &riverrun_event::TurnId| {
        state.turns.iter().find(|known| known.turn_id == *turn).is_none_or(|turn| turn.status.is_terminal())
    };
    let is_lost = processes
        .entries
        .iter()
        .any(|process| !process.status.is_terminal() && process.turn_id.as_ref().is_some_and(is_over));
    let standing =
        if is_lost && processes.standing == Coverage::Known { Coverage::Stale } else { processes.standing };
    ExecutionEnvironment { standing, processes }
}

pub fn routing_limits(state: &State) -> RoutingLimits {
    let facts = |families: &[&str]| RecentFacts::of(state, "routing_limit_summary", families);
    let (routing, limits) = (facts(&["routing"]), facts(&["limit", "rate_limit", "quota"]));
    let newest_quota = state.ledger.family("quota").and_then(|family| family.entries.last());
    let standing = if newest_quota.is_some_and(|entry| entry.kind == "quota.blocked") {
        Coverage::Blocked
    } else {
        Coverage::of(
            state,
            "routing_limit_summary",
            !routing.entries.is_empty() || !limits.entries.is_empty(),
        )
    };
    RoutingLimits {
        standing,
        routing,
        limits,
        usage: state.usage.clone(),
        cost_standing: Coverage::of(state, "cost", !state.cost.is_empty()),
        cost: state.cost.clone(),
    }
}

pub fn subagents_and_jobs(state: &State) -> SubagentsAndJobs {
    let facts = |family: &str| RecentFacts::of(state, "subagent_job_summary", &[family]);
    let child = |task: &crate::state::TaskState| {
        let parent_task_id = task.parent_task_id.clone()?;
        Some(ChildTask {
            task_id: task.task_id.clone(),
            parent_task_id,
            status: task.status,
            agent: task.agent.clone(),
        })
    };
    let child_tasks: Vec<ChildTask> = state.tasks.iter().filter_map(child).collect();
    let (subagents, jobs) = (facts("subagent"), facts("job"));
    let is_known = !(child_tasks.is_empty() && subagents.entries.is_empty() && jobs.entries.is_empty());
    SubagentsAndJobs {
        standing: Coverage::of(state, "subagent_job_summary", is_known),
        child_tasks,
        subagents,
        jobs,
        job_list: state.jobs.entries.clone(),
    }
}

pub fn benchmark(state: &State) -> BenchmarkSummary {
    let facts = RecentFacts::of(state, "benchmark_summary", &["benchmark"]);
    let standing = if facts.standing == Coverage::Unknown { Coverage::NotApplicable } else { facts.standing };
    BenchmarkSummary { standing, facts, recorded: state.benchmarks.clone() }
}
