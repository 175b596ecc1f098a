"""Jobs and their items. An item is tried again alone: the other items keep their results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .plain import ledger
from .step import Step, put, put_if_told

_MAX_JOBS = 32
"""Jobs in the state; the oldest that has ended is dropped first, and is counted."""
_MAX_JOB_ITEMS = 1000
"""Items in the state for each job; those beyond are counted."""
_LARGEST_ATTEMPT = 2**32 - 1
_TERMINAL = frozenset({"completed", "failed", "cancelled", "reported"})


def job_created(step: Step, info: dict[str, Any]) -> None:
    job = _open_job(step, "pending")
    if job is None:
        return
    job.setdefault("createdAt", step.event.timestamp)
    _update(job, info)
    for item in info.get("items", ()):
        # A job that is full is not searched again for each of them.
        is_full = len(job["items"]) >= _MAX_JOB_ITEMS
        if is_full or all(known["itemId"] != item["itemId"] for known in job["items"]):
            _push_item(step, job, _new_item(item))
    ledger(step, info)


def job_started(step: Step, info: dict[str, Any]) -> None:
    """Begins a job, or goes on with one that had ended, so that its failed items can be tried again."""
    ended = _find_job(step)
    if ended is not None and _job_at(step, ended)["status"] in ("completed", "failed"):
        retried = _own_job(step, ended)
        retried["status"] = "running"
        put(retried, "endedAt", None)
        put(retried, "error", None)
    job = _open_job(step, "running")
    if job is None:
        return
    _start(step, job)
    _update(job, info)
    ledger(step, info)


def job_progress(step: Step, info: dict[str, Any]) -> None:
    job = _open_job(step, "running")
    if job is None:
        return
    _start(step, job)
    _update(job, info)
    ledger(step, info)


def job_ended(status: str) -> Callable[[Step, dict[str, Any]], None]:
    is_cancelled = status == "cancelled"

    def ended(step: Step, info: dict[str, Any]) -> None:
        job = _open_job(step, "running")
        if job is None:
            return
        job["status"], job["endedAt"] = status, step.event.timestamp
        _update(job, info)
        put(job, "error", info.get("error"))
        # Nobody works on these any more.
        for at, known in enumerate(job["items"]):
            if known["status"] in _TERMINAL or (known["status"] == "pending" and not is_cancelled):
                continue
            item = step.own(step.own(job, "items"), at)
            item["status"], item["endedAt"] = "cancelled" if is_cancelled else "failed", step.event.timestamp
            if not is_cancelled:
                put_if_told(item, "lastError", info.get("error"))
        ledger(step, info)

    return ended


def job_item_started(step: Step, report: dict[str, Any]) -> None:
    found = _open_item(step, report, "failed")
    if found is None:
        return
    job, item = found
    _start(step, job)
    if item is not None:
        is_new_attempt = item["status"] != "running"
        least = min(item["attempts"] + 1, _LARGEST_ATTEMPT) if is_new_attempt else item["attempts"]
        item["attempts"] = max(least, report.get("attempts", 0))
        if is_new_attempt:
            item["status"], item["startedAt"] = "running", step.event.timestamp
            for name in ("endedAt", "retryable", "outputRef"):
                put(item, name, None)
        put_if_told(item, "inputRef", report.get("inputRef"))
        put_if_told(item, "threadId", step.scope.get("threadId"))
    ledger(step, report)


def job_item_completed(step: Step, report: dict[str, Any]) -> None:
    is_reported = report.get("status") == "reported"
    found = _open_item(step, report, "completed" if is_reported else None)
    if found is None:
        return
    job, item = found
    _start(step, job)
    if item is not None:
        item["status"] = "reported" if is_reported else "completed"
        item.setdefault("endedAt", step.event.timestamp)
        item["attempts"] = max(item["attempts"], report.get("attempts", 1))
        put_if_told(item, "outputRef", report.get("outputRef"))
    ledger(step, report)


def job_item_failed(step: Step, report: dict[str, Any]) -> None:
    found = _open_item(step, report, None)
    if found is None:
        return
    job, item = found
    _start(step, job)
    if item is not None:
        item["status"], item["endedAt"] = "failed", step.event.timestamp
        item["attempts"] = max(item["attempts"], report.get("attempts", 1))
        put_if_told(item, "lastError", report.get("lastError"))
        put(item, "retryable", report.get("retryable"))
    ledger(step, report)


def _find_job(step: Step) -> int | None:
    """The position of the job that the envelope names."""
    known = step.state.get("jobs", {"entries": []})["entries"]
    return next((at for at, job in enumerate(known) if job["jobId"] == step.event.job_id), None)


def _job_at(step: Step, at: int) -> dict[str, Any]:
    job: dict[str, Any] = step.state["jobs"]["entries"][at]
    return job


def _own_job(step: Step, at: int) -> dict[str, Any]:
    job: dict[str, Any] = step.own(step.own(step.own(step.state, "jobs"), "entries"), at)
    return job


def _open_job(step: Step, first: str) -> dict[str, Any] | None:
    """The job that the envelope names, which has not ended; made if this is the first event about it."""
    event = step.event
    if event.job_id is None:
        step.problem("missing_correlation", f"{event.type} without a jobId")
        return None
    at = _find_job(step)
    if at is not None and _job_at(step, at)["status"] in _TERMINAL:
        step.problem("already_ended", f"job `{event.job_id}` was {_job_at(step, at)['status']} before")
        return None
    if at is not None:
        return _own_job(step, at)
    step.state.setdefault("jobs", {"entries": []})
    jobs = step.own(step.state, "jobs")
    entries = step.own(jobs, "entries")
    if len(entries) >= _MAX_JOBS:
        ended = (at for at, entry in enumerate(entries) if entry["status"] in _TERMINAL)
        entries.pop(next(ended, 0))
        jobs["dropped"] = jobs.get("dropped", 0) + 1
    job: dict[str, Any] = {"jobId": event.job_id, "status": first, "sequence": event.sequence, "items": []}
    put(job, "threadId", step.scope.get("threadId"))
    put(job, "taskId", step.scope.get("taskId"))
    entries.append(job)
    return _own_job(step, len(entries) - 1)


def _open_item(
    step: Step, report: dict[str, Any], follows: str | None
) -> tuple[dict[str, Any], dict[str, Any] | None] | None:
    """The item that the envelope names and its job, unless it has ended in another status than `follows`.

    No item if the state has no room for it.
    """
    item_id = step.event.job_item_id
    if item_id is None:
        step.problem("missing_correlation", f"{step.event.type} without a jobItemId")
        return None
    job = _open_job(step, "running")
    if job is None:
        return None
    at = next((at for at, item in enumerate(job["items"]) if item["itemId"] == item_id), None)
    if at is None:
        return job, _push_item(step, job, {"itemId": item_id, "status": "pending", "attempts": 0})
    known = job["items"][at]
    last_ended = known["attempts"] if known["status"] == "failed" else known["attempts"] - 1
    is_late = "attempts" in report and report["attempts"] <= last_ended
    if is_late or (known["status"] in _TERMINAL and known["status"] != follows):
        step.problem("already_ended", f"item `{item_id}` was {known['status']} in attempt {known['attempts']}")
        return None
    return job, step.own(step.own(job, "items"), at)


def _push_item(step: Step, job: dict[str, Any], item: dict[str, Any]) -> dict[str, Any] | None:
    """The item at its place; None if the state has no room for it."""
    if len(job["items"]) >= _MAX_JOB_ITEMS:
        job["droppedItems"] = job.get("droppedItems", 0) + 1
        return None
    items = step.own(job, "items")
    items.append(item)
    pushed: dict[str, Any] = step.own(items, len(items) - 1)
    return pushed


def _update(job: dict[str, Any], info: dict[str, Any]) -> None:
    """What an event has on the job; what it leaves out stays."""
    for name in ("title", "instructionRef", "metadata", "progress"):
        put_if_told(job, name, info.get(name))
    put(job, "reason", info.get("reason"))


def _start(step: Step, job: dict[str, Any]) -> None:
    job["status"] = "running"
    job.setdefault("startedAt", step.event.timestamp)


def _new_item(report: dict[str, Any]) -> dict[str, Any]:
    item = {"itemId": report["itemId"], "status": "pending", "attempts": 0}
    for name in ("title", "metadata", "inputRef"):
        put_if_told(item, name, report.get(name))
    return item
