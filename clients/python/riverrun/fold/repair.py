"""A snapshot in the log may correct what events told. It never erases a pending action or a failed call."""

from __future__ import annotations

from typing import Any

from ..decode.payload import PayloadError, Read, object_reader
from .actions import new_action, push_action
from .close import end_task
from .find import root_of, thread_of
from .plain import ledger
from .status import is_terminal, parse_status
from .step import Step, put, put_if_told
from .tools import new_call

_read_thread = object_reader(
    {
        "needed": {"threadId": "id", "status": "text"},
        "optional": {"pendingRequests": "[json]", "toolCalls": "[json]"},
    }
)
_read_task = object_reader({"needed": {"taskId": "id", "status": "text"}, "optional": {"title": "text"}})
_read_pending = object_reader(
    {"needed": {"actionId": "id"}, "optional": {"turnId": "id", "taskId": "id", "toolCallId": "id"}}
)
_read_call = object_reader(
    {
        "needed": {"toolCallId": "id", "status": "text"},
        "optional": {"toolName": "text", "turnId": "id", "error": "ErrorInfo"},
    }
)


def snapshot(step: Step, info: dict[str, Any]) -> None:
    """The union of both sides.

    Statuses and titles are the snapshot's, pending actions and failed calls are ours and the snapshot's.
    """
    if "snapshot" in info:
        try:
            threads = _read_list(info["snapshot"], "threads", _read_thread)
            tasks = _read_list(info["snapshot"], "tasks", _read_task)
        except PayloadError as error:
            step.problem("malformed", str(error))
        else:
            for told in threads:
                _correct_thread(step, told)
            for told in tasks:
                _correct_task(step, told)
    ledger(step, info)


def _read_list(value: Any, name: str, read: Read) -> list[dict[str, Any]]:
    """What we take from the standard's snapshot; the rest is shown as it was told."""
    if not isinstance(value, dict):
        raise PayloadError("payload.snapshot", "an object")
    entries = value.get(name, [])
    if not isinstance(entries, list):
        raise PayloadError(f"payload.snapshot.{name}", "an array")
    return [read(entry, f"payload.snapshot.{name}[{at}]", 0) for at, entry in enumerate(entries)]


def _correct_thread(step: Step, told: dict[str, Any]) -> None:
    at = thread_of(step, told["threadId"])
    status = parse_status(told["status"])
    if status is not None:
        step.thread(at)["status"] = status
        step.change()
    for request in told.get("pendingRequests", ()):
        pending = _try(_read_pending, request)
        if pending is not None:
            _add_pending(step, pending, request)
    for entry in told.get("toolCalls", ()):
        call = _try(_read_call, entry)
        if call is not None:
            _add_failed_call(step, call)


def _add_pending(step: Step, pending: dict[str, Any], request: Any) -> None:
    if pending["actionId"] in step.derived.actions:
        return
    action = new_action(step, pending["actionId"], request)
    for name in ("turnId", "taskId", "toolCallId"):
        put(action, name, pending.get(name))
    task = step.derived.tasks.get(pending.get("taskId", ""))
    put(action, "rootTaskId", None if task is None else step.peek_task(root_of(step, task))["taskId"])
    push_action(step, action)


def _add_failed_call(step: Step, told: dict[str, Any]) -> None:
    if told["status"] != "failed" or told["toolCallId"] in step.derived.calls:
        return
    call = step.entry("toolCalls", new_call(step, told["toolCallId"]))
    call["status"] = "failed"
    put(call, "toolName", told.get("toolName"))
    put_if_told(call, "turnId", told.get("turnId"))
    put(call, "error", told.get("error"))
    step.change()


def _correct_task(step: Step, told: dict[str, Any]) -> None:
    at = step.derived.tasks.get(told["taskId"])
    if at is None:
        return
    task = step.task(at)
    put_if_told(task, "title", told.get("title"))
    status = parse_status(told["status"]) or task["status"]
    if is_terminal(status) and not is_terminal(task["status"]):
        return end_task(step, at, status)
    if not is_terminal(status):
        task.pop("endedAt", None)
    task["status"] = status
    step.change()


def _try(read: Read, value: Any) -> dict[str, Any] | None:
    try:
        return read(value, "", 0)
    except PayloadError:
        return None
