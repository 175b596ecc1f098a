//! Payloads of benchmarks. Riverrun runs none; it carries these events for those who do.

use crate::catalogue::macros::payload;
use crate::catalogue::{ErrorInfo, RawJson};

payload! {
    /// What is known of a benchmark, a trial or a comparison.
    BenchmarkInfo optional {
        /// What was measured.
        benchmark: BenchmarkIds,
        /// How it stands.
        status: String,
        /// What the agent did.
        trajectory: Trajectory,
        /// How well the agent did it.
        reward: Reward,
        /// How two configurations differ.
        comparison: Comparison,
        /// The ids in the runtime, opaque to us.
        runtime_correlation "runtime_correlation": RawJson,
        /// Where the records are, opaque to us.
        refs: RawJson,
        /// What was counted, opaque to us.
        metrics: RawJson,
        /// What a decision rests on, opaque to us.
        decision_inputs "decision_inputs": RawJson,
        /// Why it failed.
        error: ErrorInfo,
    };

    /// What was measured.
    BenchmarkIds optional {
        /// The data set.
        dataset_id "dataset_id": String,
        /// Its version.
        dataset_version "dataset_version": String,
        /// Where it is.
        dataset_ref "dataset_ref": String,
        /// The task in the data set.
        task_id "task_id": String,
        /// The trial.
        trial_id "trial_id": String,
        /// The configuration.
        configuration_id "configuration_id": String,
        /// `baseline`, `candidate`, `control`.
        role: String,
        /// Where the harness keeps the job.
        harbor_job_ref "harbor_job_ref": String,
        /// Where the harness keeps the trial.
        harbor_trial_ref "harbor_trial_ref": String,
        /// Where the task is described.
        task_toml_ref "task_toml_ref": String,
        /// The one thing that differs from the baseline.
        single_changed_variable "single_changed_variable": String,
    };

    /// What the agent did.
    Trajectory optional {
        /// The form that it is written in.
        schema: String,
        /// Where it is.
        r#ref: String,
        /// `pending`, `exported`, `failed`, `redacted`, `not-supported`.
        export_status "export_status": String,
        /// Which required fields it has, opaque to us.
        required_field_status "required_field_status": RawJson,
    };

    /// How well the agent did.
    Reward optional {
        /// The number.
        value: f64,
        /// Where it is.
        r#ref: String,
        /// Where the reasons are.
        details_ref "details_ref": String,
        /// What was looked at.
        criteria: Vec<String>,
        /// The kind of failure; `none` if there was none.
        failure_category "failure_category": String,
    };

    /// How two configurations differ.
    Comparison optional {
        /// The difference of the mean rewards.
        mean_reward_delta "mean_reward_delta": f64,
        /// The difference of the rates of timeouts.
        timeout_rate_delta "timeout_rate_delta": f64,
        /// How complete the evidence is, from 0 to 1.
        evidence_completeness_rate "evidence_completeness_rate": f64,
        /// How many gates of the highest priority got worse.
        p0_qc_gate_regression_count "p0_qc_gate_regression_count": u64,
        /// What to do.
        decision: String,
    };
}
