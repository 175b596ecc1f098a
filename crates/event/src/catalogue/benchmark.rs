//! Payloads of benchmarks. Riverrun runs none; it carries these events for those who do.

use std::fmt;

use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

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
        /// Which attempt at the task this trial is, from 1.
        attempt: u32,
        /// How long the trial may take, in seconds.
        timeout_sec "timeout_sec": f64,
        /// The one thing that differs from the baseline.
        single_changed_variable "single_changed_variable": String,
        /// What the grader looked at.
        criteria: Vec<String>,
        /// The kind of failure; `none` if there was none.
        failure_category "failure_category": String,
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

    /// How two configurations differ.
    Comparison optional {
        /// The difference of the mean rewards.
        mean_reward_delta "mean_reward_delta": f64,
        /// The difference of the rates of timeouts.
        timeout_rate_delta "timeout_rate_delta": f64,
        /// How complete the evidence is, from 0 to 1.
        evidence_completeness_rate "evidence_completeness_rate": f64,
        /// How complete the evidence of the baseline is, from 0 to 1.
        baseline_evidence_completeness_rate "baseline_evidence_completeness_rate": f64,
        /// How many gates of the highest priority got worse.
        p0_qc_gate_regression_count "p0_qc_gate_regression_count": u64,
        /// What to do.
        decision: String,
    };
}

/// How well the agent did. A bare number is read as the value.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Reward {
    /// The number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#ref: Option<String>,
    /// Where the reasons are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details_ref: Option<String>,
    /// What was looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub criteria: Option<Vec<String>>,
    /// The kind of failure; `none` if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_category: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RewardMembers {
    value: Option<f64>,
    r#ref: Option<String>,
    #[serde(alias = "details_ref")]
    details_ref: Option<String>,
    criteria: Option<Vec<String>>,
    #[serde(alias = "failure_category")]
    failure_category: Option<String>,
}

impl<'de> Deserialize<'de> for Reward {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RewardVisitor;
        impl<'de> Visitor<'de> for RewardVisitor {
            type Value = Reward;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number or an object")
            }
            fn visit_f64<E>(self, value: f64) -> Result<Reward, E> {
                Ok(Reward { value: Some(value), ..Reward::default() })
            }
            fn visit_i64<E>(self, value: i64) -> Result<Reward, E> {
                Ok(Reward { value: Some(value as f64), ..Reward::default() })
            }
            fn visit_u64<E>(self, value: u64) -> Result<Reward, E> {
                Ok(Reward { value: Some(value as f64), ..Reward::default() })
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Reward, A::Error> {
                let RewardMembers { value, r#ref, details_ref, criteria, failure_category } =
                    RewardMembers::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Reward { value, r#ref, details_ref, criteria, failure_category })
            }
        }
        deserializer.deserialize_any(RewardVisitor)
    }
}
