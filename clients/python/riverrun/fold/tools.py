"""Calls of tools: the facts of their execution, beside the items that show them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .find import is_after_the_end
from .status import is_terminal
from .step import Step, put, put_if_told


def tool_started(step: Step, started: dict[str, Any]) -> None:
    call = named_call(step)
    if call is None:
        return
    call["status"] = "running"
    call["toolName"] = started["toolName"]
    call["startedAt"] = step.event.timestamp
    call.pop("endedAt", None)
    call.pop("error", None)
    put(call, "inputRef", started.get("inputRef"))
    step.change()


def tool_progress(step: Step, progress: dict[str, Any]) -> None:
    call = named_call(step)
    if call is None:
        return
    put_if_told(call, "progress", progress.get("message"))
    step.change()


def tool_result(step: Step, result: dict[str, Any]) -> None:
    call = _ending_call(step)
    if call is None:
        return
    put(call, "preview", result.get("preview"))
    put(call, "outputRef", result.get("outputRef"))
    _end_call(step, call, "completed", result)


def tool_failed(step: Step, failed: dict[str, Any]) -> None:
    call = _ending_call(step)
    if call is None:
        return
    call["error"] = failed["error"]
    put(call, "outputRef", failed.get("outputRef"))
    _end_call(step, call, "failed", failed)


def tool_ended(status: str) -> Callable[[Step, dict[str, Any]], None]:
    def rule(step: Step, told: dict[str, Any]) -> None:
        call = _ending_call(step)
        if call is not None:
            _end_call(step, call, status, told)

    return rule


def _end_call(step: Step, call: dict[str, Any], status: str, told: dict[str, Any]) -> None:
    put_if_told(call, "toolName", told.get("toolName"))
    call["status"] = status
    call["endedAt"] = step.event.timestamp
    step.change()


def _ending_call(step: Step) -> dict[str, Any] | None:
    """The call that ends now. The first end stands, unless the call is started again."""
    call = named_call(step)
    if call is None or not is_terminal(call["status"]):
        return call
    step.problem("already_ended", f"call `{call['toolCallId']}` was {call['status']} before")
    return None


def named_call(step: Step) -> dict[str, Any] | None:
    """The call that the envelope names, which may be changed; made if this is the first word about it."""
    call_id = step.scope.get("toolCallId")
    if call_id is None:
        step.problem("missing_correlation", f"{step.event.type} without a toolCallId")
        return None
    if is_after_the_end(step):
        return None
    known = _known_call(step, call_id)
    return step.entry("toolCalls", new_call(step, call_id) if known is None else known)


def _known_call(step: Step, call_id: str) -> int | None:
    """A word that names no task is about the newest call with the id. A call that had no task gets it now."""
    task_id = step.scope.get("taskId")
    if task_id is None:
        return step.derived.calls.get(call_id)
    calls = step.derived.calls_of_tasks
    if (call_id, task_id) in calls:
        return calls[call_id, task_id]
    call = calls.pop((call_id, None), None)
    if call is not None:
        calls[call_id, task_id] = call
        step.entry("toolCalls", call)["taskId"] = task_id
    return call


def new_call(step: Step, call_id: str) -> int:
    task_id = step.scope.get("taskId")
    state: dict[str, Any] = {"toolCallId": call_id, "status": "unknown"}
    put(state, "taskId", task_id)
    put(state, "turnId", step.scope.get("turnId"))
    call = step.push("toolCalls", state)
    step.derived.calls[call_id] = call
    step.derived.calls_of_tasks[call_id, task_id] = call
    return call
