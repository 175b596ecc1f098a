"""Sessions, threads and turns."""

from __future__ import annotations

from typing import Any

from .close import end_turn, set_active_turn
from .find import thread_of, turn_of
from .plain import add_usage, ledger
from .status import is_terminal, parse_status
from .step import Step, put, put_if_told
from .tasks import reopen_task


def session(step: Step, info: dict[str, Any]) -> None:
    state = step.own(step.state, "session")
    state.setdefault("createdAt", step.event.timestamp)
    for name in ("title", "agent", "metadata"):
        put_if_told(state, name, info.get(name))
    if "tags" in info:
        put(state, "tags", info["tags"] or None)
    state["status"] = _session_status(info.get("status"), state["status"])
    step.change()


def _session_status(told: str | None, before: str) -> str:
    if told == "closed":
        return "archived"
    if told == "open" and before == "archived":
        return "idle"
    status = parse_status(told) or before
    return "idle" if status == "unknown" else status


def thread(step: Step, info: dict[str, Any]) -> None:
    state = step.thread(thread_of(step, step.scope.get("threadId", "main")))
    put_if_told(state, "title", info.get("title"))
    put_if_told(state, "status", parse_status(info.get("status")))
    step.change()


def turn_submitted(step: Step, submitted: dict[str, Any]) -> None:
    at = _named_turn(step)
    if at is None:
        return
    turn = step.turn(at)
    if "submittedAt" in turn:
        run_id = step.scope.get("runId")
        # A turn that left another reader's state is told again before it is tried again.
        if is_terminal(turn["status"]) and run_id is not None and run_id != turn.get("runId"):
            return None
        return step.problem("already_ended", f"turn `{turn['turnId']}` was submitted before")
    turn["submittedAt"] = step.event.timestamp
    put(turn, "input", submitted.get("input"))
    put(turn, "inputRef", submitted.get("inputRef"))
    put(turn, "history", submitted.get("history") or None)
    put(turn, "settings", submitted.get("settings"))
    put(turn, "request", submitted.get("request"))
    put_if_told(turn, "agent", submitted.get("agent"))
    put_if_told(turn, "taskId", step.scope.get("taskId"))
    put_if_told(turn, "runId", step.scope.get("runId"))
    if turn["status"] == "unknown":
        turn["status"] = "queued" if submitted.get("status") == "queued" else "accepted"
    thread = step.thread(thread_of(step, turn["threadId"]))
    if "activeTurnId" not in thread:
        thread["status"] = "queued" if turn["status"] == "queued" else "preparing"
    step.change()


def turn_started(step: Step, started: dict[str, Any]) -> None:
    at = _named_turn(step)
    if at is None:
        return
    turn = step.turn(at)
    run_id = step.scope.get("runId")
    if is_terminal(turn["status"]):
        if run_id is None or run_id == turn.get("runId"):
            return step.problem("after_terminal", f"turn `{turn['turnId']}` had ended")
        _retry_turn(step, turn)
    turn["status"] = "running"
    turn.setdefault("startedAt", step.event.timestamp)
    put_if_told(turn, "runId", run_id)
    put_if_told(turn, "agent", started.get("agent"))
    put(turn, "texts", started.get("texts"))
    put_if_told(turn, "taskId", step.scope.get("taskId"))
    place = thread_of(step, turn["threadId"])
    step.thread(place)["status"] = "running"
    set_active_turn(step, place, turn["turnId"])
    put_if_told(step.state, "agent", turn.get("agent"))
    step.change()


def _retry_turn(step: Step, turn: dict[str, Any]) -> None:
    """Another run of an ended turn is a retry: the turn and its root task are open again."""
    for name in ("endedAt", "error", "finalOutput", "stopReason", "removed"):
        turn.pop(name, None)
    # What could not be read is tried again.
    read = [file for file in turn.get("files", ()) if file["status"] == "completed"]
    put(turn, "files", read or None)
    task = step.derived.tasks.get(turn.get("taskId", ""))
    if task is not None:
        reopen_task(step, task, step.scope.get("runId"))
        step.change()


def history_rolled_back(step: Step, rollback: dict[str, Any]) -> None:
    """Turns that are taken out of the conversation stay, marked. Those that left the state before are only named."""
    for removed in rollback.get("removedTurns") or ():
        turn = step.derived.turns.get(removed)
        if turn is not None and not step.state["turns"][turn].get("removed"):
            step.turn(turn)["removed"] = True
            step.change()
    ledger(step, rollback)


def turn_completed(step: Step, completed: dict[str, Any]) -> None:
    turn = _ending_turn(step)
    if turn is None:
        return
    put(step.turn(turn), "finalOutput", completed.get("finalOutput"))
    put(step.turn(turn), "stopReason", completed.get("stopReason"))
    _told_usage(step, turn, completed)
    end_turn(step, turn, "completed")


def turn_failed(step: Step, failed: dict[str, Any]) -> None:
    turn = _ending_turn(step)
    if turn is None:
        return
    step.turn(turn)["error"] = failed["error"]
    _told_usage(step, turn, failed)
    end_turn(step, turn, "failed")


def turn_cancelled(step: Step, cancelled: dict[str, Any]) -> None:
    turn = _ending_turn(step)
    if turn is None:
        return
    _told_usage(step, turn, cancelled)
    end_turn(step, turn, "cancelled")


def _told_usage(step: Step, at: int, told: dict[str, Any]) -> None:
    """What the turn's end tells about usage counts only if no model call told it."""
    turn = step.turn(at)
    if "usage" in told and not turn["usage"]:
        turn["usage"] = add_usage(turn["usage"], told["usage"])
        step.state["usage"] = add_usage(step.state["usage"], told["usage"])


def _named_turn(step: Step) -> int | None:
    turn = turn_of(step)
    if turn is None:
        step.problem("missing_correlation", f"{step.event.type} without a turnId")
    return turn


def _ending_turn(step: Step) -> int | None:
    """The turn that a terminal event ends; the first terminal event stands."""
    at = _named_turn(step)
    if at is None or not is_terminal(step.state["turns"][at]["status"]):
        return at
    turn = step.state["turns"][at]
    step.problem("already_ended", f"turn `{turn['turnId']}` was {turn['status']} before")
    return None
