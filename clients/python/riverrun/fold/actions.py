"""Actions: what waits for somebody, and what was decided. The first decision stands."""

from __future__ import annotations

from typing import Any

from .find import find_task, is_after_the_end, root_of, task_of, thread_of
from .status import is_terminal
from .step import Step, put


def action_required(step: Step, _: dict[str, Any]) -> None:
    action_id = step.scope.get("actionId")
    if action_id is None:
        return step.problem("missing_correlation", "action.required without an actionId")
    if action_id in step.derived.actions:
        return step.problem("already_ended", f"action `{action_id}` was required before")
    if is_after_the_end(step):
        return
    at = task_of(step) if "taskId" in step.scope else find_task(step)
    request = step.event.raw_payload
    action = new_action(step, action_id, {} if request is None else request)
    tasks: list[int] = []
    turn_id = step.scope.get("turnId")
    if at is not None:
        root = root_of(step, at)
        tasks = [at] if at == root else [at, root]
        action["taskId"] = step.peek_task(at)["taskId"]
        action["rootTaskId"] = step.peek_task(root)["taskId"]
        turn_id = turn_id or step.peek_task(at).get("turnId")
    put(action, "turnId", turn_id)
    put(action, "toolCallId", step.scope.get("toolCallId"))
    push_action(step, action)
    for task in tasks:
        _wait_task(step, task)
    _wait_turn(step, turn_id)


def new_action(step: Step, action_id: str, request: Any) -> dict[str, Any]:
    return {
        "actionId": action_id,
        "status": "pending",
        "sequence": step.event.sequence,
        "requiredAt": step.event.timestamp,
        "request": request,
    }


def push_action(step: Step, action: dict[str, Any]) -> None:
    step.derived.actions[action["actionId"]] = step.push("actions", action)
    step.derived.add_pending(action)
    step.change()


def action_resolved(step: Step, _: dict[str, Any]) -> None:
    action_id = step.scope.get("actionId")
    if action_id is None:
        return step.problem("missing_correlation", "action.resolved without an actionId")
    at = step.derived.actions.get(action_id)
    if at is None:
        return step.problem("unknown_action", f"action `{action_id}`")
    action = step.entry("actions", at)
    if action["status"] != "pending":
        return step.problem("already_ended", f"action `{action_id}` was decided before")
    step.derived.remove_pending(action)
    action["status"] = "resolved"
    action["resolvedAt"] = step.event.timestamp
    put(action, "resolution", step.event.raw_payload)
    step.change()
    for task_id in dict.fromkeys((action.get("taskId"), action.get("rootTaskId"))):
        _wake_task(step, task_id)
    _wake_turn(step, action.get("turnId"))


def _wait_task(step: Step, at: int) -> None:
    """What is paused waits for that first."""
    status = step.peek_task(at)["status"]
    if not is_terminal(status) and status not in ("waiting_permission", "paused"):
        step.task(at)["status"] = "waiting_permission"
        step.change()


def _wake_task(step: Step, task_id: str | None) -> None:
    """Only what waits for a decision goes on with it; a task that was paused since stays so."""
    at = None if task_id is None else step.derived.tasks.get(task_id)
    if task_id is None or at is None or step.derived.task_waits(task_id):
        return
    if step.peek_task(at)["status"] == "waiting_permission":
        step.task(at)["status"] = "running"
        step.change()


def _wait_turn(step: Step, turn_id: str | None) -> None:
    at = None if turn_id is None else step.derived.turns.get(turn_id)
    status = "paused" if at is None else step.state["turns"][at]["status"]
    if at is not None and not is_terminal(status) and status != "paused":
        set_turn_status(step, at, "waiting_permission")


def _wake_turn(step: Step, turn_id: str | None) -> None:
    at = None if turn_id is None else step.derived.turns.get(turn_id)
    if turn_id is None or at is None or step.derived.turn_waits(turn_id):
        return
    if step.state["turns"][at]["status"] == "waiting_permission":
        set_turn_status(step, at, "running")


def set_turn_status(step: Step, at: int, status: str) -> None:
    turn = step.turn(at)
    turn["status"] = status
    step.thread(thread_of(step, turn["threadId"]))["status"] = status
    step.change()
