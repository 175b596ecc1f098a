"""Processes that tools run: how they stand, what they were given, where their output is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .status import is_terminal
from .step import Step, put, put_if_told

_KEPT = 64
"""Processes kept; the oldest that has ended goes first, and is counted."""
_KEPT_REFS = 64
"""Places of output that are kept of a process that has not ended; the log has them all."""
_STARTED = ("toolName", "commandSummary", "cwd", "destructive", "interactive")
_ENDED = ("exitCode", "signal", "terminatedBy", "reason", "durationMs", "error")


def process_started(step: Step, started: dict[str, Any]) -> None:
    process = _open_process(step)
    if process is None:
        return
    process["startedAt"] = step.event.timestamp
    _take(process, started, _STARTED)
    step.change()


def process_output(step: Step, output: dict[str, Any]) -> None:
    process = _open_process(step)
    if process is None:
        return
    process["outputs"] += 1
    process["outputBytes"] += _size(output)
    refs = process.get("outputRefs", [])
    if "outputRef" in output and len(refs) < _KEPT_REFS:
        process["outputRefs"] = [*refs, output["outputRef"]]
    step.change()


def process_input(step: Step, given: dict[str, Any]) -> None:
    process = _open_process(step)
    if process is None:
        return
    process["inputs"] += 1
    process["inputBytes"] += _size(given)
    step.change()


def process_ended(status: str) -> Callable[[Step, dict[str, Any]], None]:
    def ended(step: Step, told: dict[str, Any]) -> None:
        process = _open_process(step)
        if process is None:
            return
        is_lost = status == "failed" and told.get("error", {}).get("code") == "lost"
        process["status"] = "lost" if is_lost else status
        process["endedAt"] = step.event.timestamp
        _take(process, told, _ENDED)
        put_if_told(process, "outputBytes", told.get("outputBytes"))
        if "outputRefs" in told:
            put(process, "outputRefs", told["outputRefs"] or None)
        step.change()

    return ended


def _open_process(step: Step) -> dict[str, Any] | None:
    """The process that the envelope names, which has not ended; made if this is the first word about it."""
    subject = step.event.subject
    if subject is None:
        step.problem("missing_correlation", f"{step.event.type} without a processId")
        return None
    known = step.state.get("processes", {"entries": []})["entries"]
    at = next((at for at, entry in enumerate(known) if entry["processId"] == subject), None)
    if at is not None and is_terminal(known[at]["status"]):
        step.problem("already_ended", f"process `{subject}` was {known[at]['status']} before")
        return None
    step.state.setdefault("processes", {"entries": []})
    processes = step.own(step.state, "processes")
    entries = step.own(processes, "entries")
    if at is not None:
        return step.own(entries, at)
    if len(entries) >= _KEPT:
        ended = (at for at, entry in enumerate(entries) if is_terminal(entry["status"]))
        entries.pop(next(ended, 0))
        processes["dropped"] = processes.get("dropped", 0) + 1
    process: dict[str, Any] = {"processId": subject, "status": "running"}
    process |= {"inputs": 0, "inputBytes": 0, "outputs": 0, "outputBytes": 0}
    for name in ("turnId", "taskId", "toolCallId"):
        put(process, name, step.scope.get(name))
    entries.append(process)
    return process


def _take(process: dict[str, Any], told: dict[str, Any], names: tuple[str, ...]) -> None:
    """What is not told is not known."""
    for name in names:
        put(process, name, told.get(name))


def _size(told: dict[str, Any]) -> int:
    size = told.get("size")
    return len(told.get("text", "").encode()) if size is None else size
