"""Benchmarks that a harness outside runs: what it measured, by trial."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .plain import ledger
from .status import is_terminal
from .step import Step, put, put_if_told

_MAX_TRIALS = 256
"""Trials in the state; the oldest that has ended is dropped first, and is counted."""
_MAX_FACTS = 64
"""Data sets, configurations and comparisons in the state, of each."""
_MAX_REFS = 64
"""References that are joined for one trial; more replace those before."""
_RECORDED = (
    "runtimeCorrelation",
    "attempt",
    "timeoutSec",
    "trajectory",
    "metrics",
    "decisionInputs",
    "failureCategory",
    "error",
)


def benchmark_dataset(step: Step, info: dict[str, Any]) -> None:
    """The newest facts on a data set replace those before."""
    ids = info.get("benchmark", {})
    if "datasetId" not in ids:
        return _missing(step, "the id of what it is about")
    key = ids["datasetId"], ids.get("datasetVersion")
    _add_fact(step, "datasets", info, lambda other: (other.get("datasetId"), other.get("datasetVersion")) == key)


def benchmark_configuration(step: Step, info: dict[str, Any]) -> None:
    name = info.get("benchmark", {}).get("configurationId")
    if name is None:
        return _missing(step, "the id of what it is about")
    _add_fact(step, "configurations", info, lambda other: other.get("configurationId") == name)


def benchmark_comparison(step: Step, info: dict[str, Any]) -> None:
    _add_fact(step, "comparisons", info, lambda other: False)


def _missing(step: Step, what: str) -> None:
    step.problem("missing_correlation", f"{step.event.type} without {what}")


def _add_fact(step: Step, name: str, info: dict[str, Any], is_same: Callable[[dict[str, Any]], bool]) -> None:
    fact: dict[str, Any] = {
        "sequence": step.event.sequence,
        "recordedAt": step.event.timestamp,
        "benchmark": info.get("benchmark", {}),
    }
    for member in ("comparison", "metrics", "decisionInputs", "refs"):
        put_if_told(fact, member, info.get(member))
    benchmarks = _own_benchmarks(step)
    facts = [other for other in benchmarks.get(name, []) if not is_same(other["benchmark"])]
    facts.append(fact)
    if len(facts) > _MAX_FACTS:
        facts.pop(0)
        benchmarks["dropped"] = benchmarks.get("dropped", 0) + 1
    benchmarks[name] = facts
    ledger(step, info)


def benchmark_trial(status: str | None) -> Callable[[Step, dict[str, Any]], None]:
    """What a harness recorded on a trial; without a status it leaves that as it is."""

    def recorded(step: Step, info: dict[str, Any]) -> None:
        trial = _open_trial(step, status, info)
        if trial is None:
            return
        if status is not None:
            trial["status"] = status
        if status == "running":
            trial.setdefault("startedAt", step.event.timestamp)
        elif status is not None:
            trial["endedAt"] = step.event.timestamp
        for name in ("threadId", "turnId", "taskId", "runId"):
            put_if_told(trial, name, step.scope.get(name))
        put_if_told(trial, "traceId", step.event.trace_id)
        _record(trial, info)
        ledger(step, info)

    return recorded


def _own_benchmarks(step: Step) -> dict[str, Any]:
    step.state.setdefault("benchmarks", {})
    benchmarks: dict[str, Any] = step.own(step.state, "benchmarks")
    return benchmarks


def _open_trial(step: Step, status: str | None, info: dict[str, Any]) -> dict[str, Any] | None:
    """The trial that the event names; made if this is the first event about it."""
    trial_id = info.get("benchmark", {}).get("trialId")
    if trial_id is None:
        _missing(step, "a trialId")
        return None
    known = step.state.get("benchmarks", {}).get("trials", [])
    at = next((at for at, trial in enumerate(known) if trial["trialId"] == trial_id), None)
    if at is not None and status is not None and is_terminal(known[at]["status"]):
        step.problem("already_ended", f"trial `{trial_id}` was {known[at]['status']} before")
        return None
    benchmarks = _own_benchmarks(step)
    trials = step.own_list(benchmarks, "trials")
    if at is None:
        if len(trials) >= _MAX_TRIALS:
            ended = (at for at, trial in enumerate(trials) if is_terminal(trial["status"]))
            trials.pop(next(ended, 0))
            benchmarks["dropped"] = benchmarks.get("dropped", 0) + 1
        made = {"trialId": trial_id, "status": "unknown", "sequence": step.event.sequence, "benchmark": {}}
        trials.append(made)
        at = len(trials) - 1
    trial: dict[str, Any] = step.own(trials, at)
    return trial


def _record(trial: dict[str, Any], info: dict[str, Any]) -> None:
    trial["benchmark"] = trial["benchmark"] | info.get("benchmark", {})
    put_if_told(trial["benchmark"], "singleChangedVariable", info.get("singleChangedVariable"))
    for name in _RECORDED:
        put_if_told(trial, name, info.get(name))
    if "reward" in info:
        trial["reward"] = dict(info["reward"])
        put(trial["reward"], "criteria", info["reward"].get("criteria", info.get("criteria")))
    if "refs" in info:
        trial["refs"] = _merge_refs(trial.get("refs"), info["refs"])


def _merge_refs(known: Any, given: Any) -> Any:
    """Objects are joined by name, the newer value wins; anything else replaces what was there."""
    if not isinstance(known, dict) or not isinstance(given, dict):
        return given
    joined = known | given
    return given if len(joined) > _MAX_REFS else joined
