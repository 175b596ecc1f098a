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

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Benchmarks {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub datasets: Vec<BenchmarkFact>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub configurations: Vec<BenchmarkFact>,
    /// In the order in which they were first named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trials: Vec<Trial>,
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
    pub sequence: Sequence,
    pub recorded_at: Timestamp,
    pub benchmark: BenchmarkIds,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<RawJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision_inputs: Option<RawJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refs: Option<RawJson>,
}

/// One trial: which task and configuration, which turn and run it was, and how it was graded.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Trial {
    pub trial_id: String,
    /// `unknown` while only its reward is known.
    pub status: Status,
    /// The first event about it.
    pub sequence: Sequence,
    pub benchmark: BenchmarkIds,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime_correlation: Option<RawJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_sec: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// Absent until the trial was graded: no reward is not a reward of zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reward: Option<Reward>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trajectory: Option<Trajectory>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<RawJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision_inputs: Option<RawJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refs: Option<RawJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_category: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorInfo>,
}

impl Benchmarks {
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
