//! What a harness outside measured in this session: data sets, configurations, trials with their rewards, comparisons.

use riverrun_event::{
    BenchmarkIds, Comparison, ErrorInfo, RawJson, Reward, RunId, Sequence, TaskId, ThreadId, Timestamp,
    Trajectory, TurnId,
};
use serde::{Deserialize, Serialize};

use crate::status::Status;

/// Trials in the state; the oldest that has ended is dropped first, and is counted.
pub(crate) const MAX_TRIALS: usize = 256;
/// Data sets, configurations and comparisons in the state, of each.
pub(crate) const MAX_FACTS: usize = 64;
/// References that are joined for one trial; more replace those before.
pub(crate) const MAX_REFS: usize = 64;

/// What events recorded of benchmarks.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Benchmarks {
    /// Data sets, as last recorded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub datasets: Vec<BenchmarkFact>,
    /// Configurations, as last recorded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub configurations: Vec<BenchmarkFact>,
    /// In the order of their first frames.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trials: Vec<Trial>,
    /// Comparisons of trials, as last recorded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub comparisons: Vec<BenchmarkFact>,
    /// Entries that were dropped to keep the state small. The log still has them.
    #[serde(skip_serializing_if = "is_zero")]
    pub dropped: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A data set, a configuration or a comparison.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BenchmarkFact {
    /// The event that recorded it.
    pub sequence: Sequence,
    /// When it was recorded.
    pub recorded_at: Timestamp,
    /// The ids of what it is about.
    pub benchmark: BenchmarkIds,
    /// The comparison, in an event about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
    /// Measured values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<RawJson>,
    /// What a decision is based on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision_inputs: Option<RawJson>,
    /// References to what belongs to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refs: Option<RawJson>,
}

/// One trial: which task and configuration, which turn and run it was, and how it was graded.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Trial {
    /// The trial.
    pub trial_id: String,
    /// `unknown` while only its reward is known.
    pub status: Status,
    /// The first event about it.
    pub sequence: Sequence,
    /// The ids of its data set, task and configuration.
    pub benchmark: BenchmarkIds,
    /// The thread that it ran in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    /// The turn that it ran in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    /// The task that was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// The run of the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// The trace of its telemetry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// How the runtime names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime_correlation: Option<RawJson>,
    /// Which attempt it is, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// The longest that it may take, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_sec: Option<f64>,
    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// Absent until the trial was graded: no reward is not a reward of zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reward: Option<Reward>,
    /// What was recorded of its course.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trajectory: Option<Trajectory>,
    /// Measured values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<RawJson>,
    /// What a decision about it is based on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision_inputs: Option<RawJson>,
    /// References to what belongs to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refs: Option<RawJson>,
    /// The kind of its failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_category: Option<String>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorInfo>,
}

impl Benchmarks {
    /// True if no event recorded anything of benchmarks.
    pub fn is_empty(&self) -> bool {
        let Self { datasets, configurations, trials, comparisons, dropped } = self;
        datasets.is_empty()
            && configurations.is_empty()
            && trials.is_empty()
            && comparisons.is_empty()
            && *dropped == 0
    }

    /// Makes room for a new one; its position.
    pub(crate) fn push_trial(&mut self, trial: Trial) -> usize {
        if self.trials.len() >= MAX_TRIALS {
            let ended = self.trials.iter().position(|known| known.status.is_terminal());
            self.trials.remove(ended.unwrap_or(0));
            self.dropped += 1;
        }
        self.trials.push(trial);
        self.trials.len() - 1
    }
}
