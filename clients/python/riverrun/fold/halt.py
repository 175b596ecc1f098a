"""Turns that are halted with their root task, and what that makes of the session."""

from __future__ import annotations

from .actions import set_turn_status
from .status import is_terminal
from .step import Step

_SESSION_STATUS = {
    "turn.submitted": "running",
    "turn.started": "running",
    "action.resolved": "running",
    "action.required": "waiting_permission",
    "turn.completed": "completed",
    "turn.failed": "failed",
    "turn.cancelled": "cancelled",
}
"""What an event says about its session, without the rest of the log."""


def halt_turn(step: Step, at: int, before: str) -> None:
    """A turn that is at work is halted with its root task, and goes on with it."""
    task = step.peek_task(at)
    turn = step.derived.turns.get(task.get("turnId", ""))
    if turn is None or (before == "paused") == (task["status"] == "paused"):
        return
    known = step.state["turns"][turn]
    if known.get("taskId") != task["taskId"]:
        return
    if known["status"] == "paused":
        told = "waiting_permission" if step.derived.turn_waits(known["turnId"]) else "running"
    elif task["status"] == "paused" and known["status"] in ("running", "waiting_permission"):
        told = "paused"
    else:
        return
    set_turn_status(step, turn, told)
    _weigh_session(step, told)


def follow_status(step: Step) -> None:
    told = _SESSION_STATUS.get(step.event.type)
    if told is not None:
        _weigh_session(step, told)


def _weigh_session(step: Step, told: str) -> None:
    """The session's status is that of the newest word on a turn or an action, unless somebody must decide, another
    thread is at work, or what is halted is all that is left."""
    state, derived = step.state, step.derived
    waiting, active, is_halted = derived.pending, derived.active_threads, False
    for turn in state["turns"]:
        if turn["status"] != "paused":
            continue
        is_halted = True
        waiting -= derived.waits_in(turn["turnId"])
        thread = derived.threads.get(turn["threadId"])
        if thread is not None and state["threads"][thread].get("activeTurnId") == turn["turnId"]:
            active -= 1
    status = told
    if waiting > 0:
        status = "waiting_permission"
    elif active > 0 and (is_halted or is_terminal(told)):
        status = "running"
    elif is_halted:
        status = "paused"
    if state["session"]["status"] != status:
        step.own(state, "session")["status"] = status
        step.change()
