"""Tasks and their attempts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..decode.payload import is_id
from .close import end_task
from .find import depth_below, find_task, is_after_the_end, is_ancestor, task_cycle, task_of
from .halt import halt_turn
from .status import is_terminal, is_waiting, parse_status
from .step import Step, put, put_if_told


def task_created(step: Step, info: dict[str, Any]) -> None:
    known = len(step.state["tasks"])
    at = _named_task(step)
    if at is None:
        return
    task = step.task(at)
    _fill_task(task, info)
    _name_call(step, task, info)
    if len(step.state["tasks"]) > known:
        task["status"] = parse_status(info.get("status")) or "accepted"
    else:
        _link_parent(step, task)
    step.change()


def task_updated(step: Step, info: dict[str, Any]) -> None:
    at = _named_task(step)
    if at is None:
        return
    _fill_task(step.task(at), info)
    status = parse_status(info.get("status"))
    if status is None:
        step.change()
    else:
        _set_task_status(step, at, status)


def _fill_task(task: dict[str, Any], info: dict[str, Any]) -> None:
    for name in ("title", "objective", "agent"):
        put_if_told(task, name, info.get(name))
    put_if_told(task, "statusReason", info.get("reason"))


def _name_call(step: Step, task: dict[str, Any], info: dict[str, Any]) -> None:
    """The payload may name the parent's call where the envelope does not."""
    told = info.get("parentToolCallId")
    call = step.scope.get("parentToolCallId") or (told if is_id(told) else None)
    put_if_told(task, "parentToolCallId", task.get("parentToolCallId") or call)


def _link_parent(step: Step, task: dict[str, Any]) -> None:
    """A task may have been told before its parent was."""
    parent = step.scope.get("parentTaskId")
    if parent is None or "parentTaskId" in task:
        return
    if is_ancestor(step, task["taskId"], parent):
        return task_cycle(step, task["taskId"])
    depth = step.event.depth
    task["depth"] = depth_below(step, parent) if depth is None else depth
    task["parentTaskId"] = parent
    # A child is not the root of its turn.
    turn = step.derived.turns.get(task.get("turnId", ""))
    if turn is not None and step.state["turns"][turn].get("taskId") == task["taskId"]:
        del step.turn(turn)["taskId"]


def task_status(status: str) -> Callable[[Step, dict[str, Any]], None]:
    def rule(step: Step, change: dict[str, Any]) -> None:
        at = _named_task(step)
        if at is None:
            return
        # `task.waiting` says what for; the other types are their own status.
        told = parse_status(change.get("status"))
        put(step.task(at), "statusReason", change.get("reason"))
        says = told is not None and is_waiting(status) and is_waiting(told)
        _set_task_status(step, at, told if told is not None and says else status)

    return rule


def task_failed(step: Step, failed: dict[str, Any]) -> None:
    at = _named_task(step)
    if at is None:
        return
    task = step.task(at)
    if not is_terminal(task["status"]):
        task["error"] = failed["error"]
    _set_task_status(step, at, "failed")


def task_completed(step: Step, completed: dict[str, Any]) -> None:
    at = _named_task(step)
    if at is None:
        return
    put_if_told(step.task(at), "statusReason", completed.get("reason"))
    _set_task_status(step, at, "completed")


def _set_task_status(step: Step, at: int, status: str) -> None:
    task = step.task(at)
    # After its end a task may only be tried again or put away.
    if is_terminal(task["status"]) and status not in ("retrying", "archived"):
        return step.problem("already_ended", f"task `{task['taskId']}` was {task['status']} before")
    if is_terminal(status) and not is_terminal(task["status"]):
        return end_task(step, at, status)
    before = task["status"]
    task["status"] = status
    if not is_terminal(status):
        task.pop("endedAt", None)
    step.change()
    halt_turn(step, at, before)


def attempt(status: str) -> Callable[[Step, dict[str, Any]], None]:
    def rule(step: Step, told: dict[str, Any]) -> None:
        at = _named_task(step)
        if at is None:
            return
        run_id, time = step.scope.get("runId"), step.event.timestamp
        ended = time if is_terminal(status) else None
        attempts = step.own_list(step.task(at), "attempts")
        places = [place for place, known in enumerate(attempts) if known.get("runId") == run_id]
        if places:
            known = step.own(attempts, places[-1])
            known["status"] = status
            put_if_told(known, "error", told.get("error"))
            put_if_told(known, "worker", told.get("worker"))
            put(known, "endedAt", ended)
        else:
            begun = time if status == "running" else None
            told_of = {"error": told.get("error"), "worker": told.get("worker")}
            attempts.append(_new_attempt(status, runId=run_id, startedAt=begun, endedAt=ended, **told_of))
        if status == "running":
            reopen_task(step, at, run_id)
        step.change()

    return rule


def reopen_task(step: Step, at: int, run_id: str | None) -> None:
    """A new run of a task. One that had ended is open again, and the run that ended stays as an attempt."""
    task = step.task(at)
    before = task.get("runId")
    runs = [known.get("runId") for known in task.get("attempts", ())]
    if is_terminal(task["status"]) and before != run_id and before not in runs:
        ended = _new_attempt(
            task["status"],
            runId=before,
            startedAt=task.get("createdAt"),
            endedAt=task.get("endedAt"),
            error=task.get("error"),
        )
        # The new run may stand there already; what ended comes before it.
        place = len(runs) - (bool(runs) and runs[-1] == run_id)
        step.own_list(task, "attempts").insert(place, ended)
        runs.insert(place, before)
    if runs and run_id not in runs:
        started = _new_attempt("running", runId=run_id, startedAt=step.event.timestamp)
        step.own_list(task, "attempts").append(started)
    put(task, "runId", run_id)
    task["status"] = "running"
    task.pop("error", None)
    task.pop("endedAt", None)


def _new_attempt(status: str, **members: Any) -> dict[str, Any]:
    return {"status": status, **{name: value for name, value in members.items() if value is not None}}


def _named_task(step: Step) -> int | None:
    if "taskId" not in step.scope and "turnId" not in step.scope:
        step.problem("missing_correlation", f"{step.event.type} without a taskId")
        return None
    known = find_task(step)
    if known is not None:
        return known
    # An ended turn gets no new tasks.
    return None if is_after_the_end(step) else task_of(step)
