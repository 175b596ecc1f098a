//! Benchmarks that a harness outside runs: what it measured, by trial.

use std::collections::BTreeMap;

use riverrun_event::{BenchmarkIds, BenchmarkInfo, RawJson, Reward};

use super::Step;
use crate::benchmark::{BenchmarkFact, MAX_FACTS, MAX_REFS, Trial};
use crate::problem::ProblemCode;
use crate::status::Status;

impl Step<'_> {
    /// The newest facts on a data set replace those before.
    pub(super) fn benchmark_dataset(&mut self, info: &BenchmarkInfo) {
        let Some(fact) = self.benchmark_fact(info, |ids| ids.dataset_id.as_deref()) else { return };
        let key = |ids: &BenchmarkIds| (ids.dataset_id.clone(), ids.dataset_version.clone());
        let known = &mut self.state.benchmarks.datasets;
        known.retain(|other| key(&other.benchmark) != key(&fact.benchmark));
        known.push(fact);
        self.bound_facts();
    }

    pub(super) fn benchmark_configuration(&mut self, info: &BenchmarkInfo) {
        let Some(fact) = self.benchmark_fact(info, |ids| ids.configuration_id.as_deref()) else { return };
        let known = &mut self.state.benchmarks.configurations;
        known.retain(|other| other.benchmark.configuration_id != fact.benchmark.configuration_id);
        known.push(fact);
        self.bound_facts();
    }

    pub(super) fn benchmark_comparison(&mut self, info: &BenchmarkInfo) {
        let Some(fact) = self.benchmark_fact(info, |_| Some("")) else { return };
        self.state.benchmarks.comparisons.push(fact);
        self.bound_facts();
    }

    fn benchmark_fact(
        &mut self,
        info: &BenchmarkInfo,
        id: impl Fn(&BenchmarkIds) -> Option<&str>,
    ) -> Option<BenchmarkFact> {
        let benchmark = info.benchmark.clone().unwrap_or_default();
        if id(&benchmark).is_none() {
            let detail = format!("{} without the id of what it is about", self.event.kind.as_str());
            self.problem(ProblemCode::MissingCorrelation, detail);
            return None;
        }
        Some(BenchmarkFact {
            sequence: self.event.sequence,
            recorded_at: self.event.timestamp,
            benchmark,
            comparison: info.comparison.clone(),
            metrics: info.metrics.clone(),
            decision_inputs: info.decision_inputs.clone(),
            refs: info.refs.clone(),
        })
    }

    fn bound_facts(&mut self) {
        let benchmarks = &mut self.state.benchmarks;
        let lists = [&mut benchmarks.datasets, &mut benchmarks.configurations, &mut benchmarks.comparisons];
        for list in lists.into_iter().filter(|list| list.len() > MAX_FACTS) {
            list.remove(0);
            benchmarks.dropped += 1;
        }
        self.ledger();
    }

    /// What a harness recorded on a trial; `unknown` leaves the status as it is.
    pub(super) fn benchmark_trial(&mut self, status: Status, info: &BenchmarkInfo) {
        let now = self.event.timestamp;
        let Some(at) = self.trial(status, info) else { return };
        let trial = &mut self.state.benchmarks.trials[at];
        if status != Status::Unknown {
            trial.status = status;
        }
        match status {
            Status::Running => trial.started_at = trial.started_at.or(Some(now)),
            Status::Completed | Status::Failed => trial.ended_at = Some(now),
            _ => {}
        }
        let scope = &self.event.scope;
        keep(&mut trial.thread_id, &scope.thread_id);
        keep(&mut trial.turn_id, &scope.turn_id);
        keep(&mut trial.task_id, &scope.task_id);
        keep(&mut trial.run_id, &scope.run_id);
        keep(&mut trial.trace_id, &scope.trace_id);
        record(trial, info);
        self.ledger();
    }

    /// The trial that the event names; made if this is the first event about it.
    fn trial(&mut self, status: Status, info: &BenchmarkInfo) -> Option<usize> {
        let Some(id) = info.benchmark.as_ref().and_then(|ids| ids.trial_id.clone()) else {
            let detail = format!("{} without a trialId", self.event.kind.as_str());
            self.problem(ProblemCode::MissingCorrelation, detail);
            return None;
        };
        let benchmarks = &mut self.state.benchmarks;
        let Some(at) = benchmarks.trials.iter().position(|known| known.trial_id == id) else {
            let trial = Trial { trial_id: id, sequence: self.event.sequence, ..Trial::default() };
            return Some(benchmarks.push_trial(trial));
        };
        let known = benchmarks.trials[at].status;
        if status != Status::Unknown && known.is_terminal() {
            self.problem(ProblemCode::AlreadyEnded, format!("trial `{id}` was {} before", known.as_str()));
            return None;
        }
        Some(at)
    }
}

fn keep<T: Clone>(known: &mut Option<T>, given: &Option<T>) {
    if given.is_some() {
        known.clone_from(given);
    }
}

fn record(trial: &mut Trial, info: &BenchmarkInfo) {
    if let Some(ids) = &info.benchmark {
        merge_ids(&mut trial.benchmark, ids);
    }
    keep(&mut trial.benchmark.single_changed_variable, &info.single_changed_variable);
    keep(&mut trial.runtime_correlation, &info.runtime_correlation);
    keep(&mut trial.attempt, &info.attempt);
    keep(&mut trial.timeout_sec, &info.timeout_sec);
    keep(&mut trial.trajectory, &info.trajectory);
    keep(&mut trial.metrics, &info.metrics);
    keep(&mut trial.decision_inputs, &info.decision_inputs);
    keep(&mut trial.failure_category, &info.failure_category);
    keep(&mut trial.error, &info.error);
    if let Some(reward) = &info.reward {
        let criteria = reward.criteria.clone().or_else(|| info.criteria.clone());
        trial.reward = Some(Reward { criteria, ..reward.clone() });
    }
    if let Some(refs) = &info.refs {
        trial.refs = Some(merge_refs(trial.refs.as_ref(), refs));
    }
}

fn merge_ids(known: &mut BenchmarkIds, given: &BenchmarkIds) {
    keep(&mut known.dataset_id, &given.dataset_id);
    keep(&mut known.dataset_version, &given.dataset_version);
    keep(&mut known.dataset_ref, &given.dataset_ref);
    keep(&mut known.task_id, &given.task_id);
    keep(&mut known.trial_id, &given.trial_id);
    keep(&mut known.configuration_id, &given.configuration_id);
    keep(&mut known.role, &given.role);
    keep(&mut known.harbor_job_ref, &given.harbor_job_ref);
    keep(&mut known.harbor_trial_ref, &given.harbor_trial_ref);
    keep(&mut known.task_toml_ref, &given.task_toml_ref);
    keep(&mut known.single_changed_variable, &given.single_changed_variable);
}

/// Objects are joined by name, the newer value wins; anything else replaces what was there.
fn merge_refs(known: Option<&RawJson>, given: &RawJson) -> RawJson {
    let members = |refs: &RawJson| refs.to::<BTreeMap<String, RawJson>>().ok();
    let (Some(mut joined), Some(new_members)) = (known.and_then(members), members(given)) else {
        return given.clone();
    };
    joined.extend(new_members);
    if joined.len() > MAX_REFS {
        return given.clone();
    }
    RawJson::of(&joined).unwrap_or_else(|_| given.clone())
}
