"""Finds what an event is about, and makes it if the event is the first to name it."""

from __future__ import annotations

from typing import Any

from .derived import Output
from .seal import seal_old_turns
from .status import is_terminal
from .step import ItemAt, Step, put

_MAX_DEPTH = 64
"""Deeper chains of tasks are a cycle or an attack."""


def touch_turn(step: Step) -> None:
    """Moves on the last sequence of the turn that the event names."""
    turn = named_turn(step)
    if turn is not None:
        step.turn(turn)["lastSequence"] = step.event.sequence


def named_turn(step: Step) -> int | None:
    """The turn that the event names, if it is known."""
    return step.derived.turns.get(step.scope.get("turnId", ""))


def turn_of(step: Step) -> int | None:
    """The turn that the event names; made if no event submitted it."""
    turn_id = step.scope.get("turnId")
    if turn_id is None:
        return None
    known = step.derived.turns.get(turn_id)
    return _new_turn(step, turn_id) if known is None else known


def _new_turn(step: Step, turn_id: str) -> int:
    seal_old_turns(step)
    thread_id = step.scope.get("threadId", "main")
    thread = step.thread(thread_of(step, thread_id))
    thread["turns"] += 1
    thread["lastTurnId"] = turn_id
    state: dict[str, Any] = {
        "turnId": turn_id,
        "threadId": thread_id,
        "status": "unknown",
        "firstSequence": step.event.sequence,
        "lastSequence": step.event.sequence,
        "usage": {},
    }
    put(state, "runId", step.scope.get("runId"))
    turn = step.push("turns", state)
    step.derived.turns[turn_id] = turn
    return turn


def thread_of(step: Step, thread_id: str) -> int:
    known = step.derived.threads.get(thread_id)
    if known is not None:
        return known
    thread = step.push("threads", {"threadId": thread_id, "status": "idle", "turns": 0})
    step.derived.threads[thread_id] = thread
    return thread


def task_of(step: Step) -> int:
    """The task that the event belongs to; made if it is the first to name it.

    Without a task id it is the turn's root task, and without a turn the task `main`.
    """
    task_id = step.scope.get("taskId")
    if task_id is None:
        turn = turn_of(step)
        root = None if turn is None else step.state["turns"][turn].get("taskId")
        task_id = root or step.scope.get("turnId", "main")
    known = step.derived.tasks.get(task_id)
    return _new_task(step, task_id) if known is None else known


def find_task(step: Step) -> int | None:
    task_id = step.scope.get("taskId")
    if task_id is None:
        turn = named_turn(step)
        task_id = None if turn is None else step.state["turns"][turn].get("taskId")
    return None if task_id is None else step.derived.tasks.get(task_id)


def live_task(step: Step) -> int | None:
    """The event's task, unless its turn or the task itself has ended: then nothing of it changes any more."""
    if is_after_the_end(step):
        return None
    at = task_of(step)
    task = step.peek_task(at)
    if not is_terminal(task["status"]):
        return at
    step.problem("after_terminal", f"{step.event.type} after the end of task `{task['taskId']}`")
    return None


def is_after_the_end(step: Step) -> bool:
    """True, and told as a problem, if the event's turn has ended."""
    turn = named_turn(step)
    if turn is None or not is_terminal(step.state["turns"][turn]["status"]):
        return False
    step.problem("after_terminal", f"{step.event.type} after the end of turn `{step.scope['turnId']}`")
    return True


def _new_task(step: Step, task_id: str) -> int:
    turn = turn_of(step)
    parent, call = _parent_of(step, task_id)
    depth = step.event.depth
    state: dict[str, Any] = {
        "taskId": task_id,
        "status": "running",
        "depth": depth_below(step, parent) if depth is None else depth,
        "createdAt": step.event.timestamp,
        "usage": {},
        "output": [],
    }
    put(state, "turnId", step.scope.get("turnId"))
    put(state, "runId", step.scope.get("runId"))
    put(state, "parentTaskId", parent)
    put(state, "parentToolCallId", call)
    if turn is not None and parent is None:
        step.turn(turn).setdefault("taskId", task_id)
    task = step.push("tasks", state)
    step.derived.tasks[task_id] = task
    step.derived.outputs[task_id] = Output(state)
    step.change()
    return task


def _parent_of(step: Step, task_id: str) -> tuple[str | None, str | None]:
    """The parent of a new task and the parent's call. A child's task id is its parent's call id."""
    parent, call = step.scope.get("parentTaskId"), step.scope.get("parentToolCallId")
    if parent is None:
        caller = step.derived.caller(task_id)
        if caller is not None:
            parent = step.peek_task(caller)["taskId"]
            call = call or task_id
    if parent is not None and is_ancestor(step, task_id, parent):
        task_cycle(step, task_id)
        parent = None
    return parent, call


def depth_below(step: Step, parent: str | None) -> int:
    """The depth of a task below this parent, which may not have been told yet."""
    if parent is None:
        return 0
    above = step.derived.tasks.get(parent)
    return min((0 if above is None else step.peek_task(above)["depth"]) + 1, 2**32 - 1)


def task_cycle(step: Step, task_id: str) -> None:
    step.problem("task_cycle", f"task `{task_id}` would be its own ancestor")


def is_ancestor(step: Step, task: str, below: str) -> bool:
    """True if `task` is `below` or stands above it."""
    at: str | None = below
    for _ in range(_MAX_DEPTH):
        if at is None:
            return False
        if at == task:
            return True
        known = step.derived.tasks.get(at)
        at = None if known is None else step.peek_task(known).get("parentTaskId")
    return True


def root_of(step: Step, task: int) -> int:
    """The outermost task above this one."""
    at = task
    for _ in range(_MAX_DEPTH):
        above = step.derived.tasks.get(step.peek_task(at).get("parentTaskId", ""))
        if above is None:
            return at
        at = above
    return at


def item_by_id(step: Step, task: int, item_id: str) -> ItemAt | None:
    item = step.output(task).positions.get(item_id)
    return None if item is None else ItemAt(task, item)
