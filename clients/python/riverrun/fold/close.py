"""The end of turns and tasks: what was open is closed honestly, tasks before their turn."""

from __future__ import annotations

from .find import thread_of
from .items import finish_item
from .status import is_terminal
from .step import ItemAt, Step, put


def end_turn(step: Step, at: int, outcome: str) -> None:
    turn = step.turn(at)
    turn_id, root = turn["turnId"], turn.get("taskId")
    # Children stand after their parents and end before them.
    for task in reversed(range(len(step.state["tasks"]))):
        state = step.peek_task(task)
        if state.get("turnId") != turn_id or is_terminal(state["status"]):
            continue
        is_root = root == state["taskId"]
        if is_root and "error" in turn:
            step.task(task)["error"] = turn["error"]
        end_task(step, task, _task_outcome(outcome, is_root))
    _close_tools(step, turn_id, outcome)
    _abandon_actions(step, turn_id)
    turn["status"] = outcome
    turn["endedAt"] = step.event.timestamp
    place = thread_of(step, turn["threadId"])
    thread = step.thread(place)
    thread["lastOutcome"] = outcome
    if thread.get("activeTurnId", turn_id) == turn_id:
        thread["status"] = outcome
        set_active_turn(step, place, None)
    step.change()


def set_active_turn(step: Step, thread: int, turn_id: str | None) -> None:
    state = step.thread(thread)
    step.derived.active_threads += (turn_id is not None) - ("activeTurnId" in state)
    put(state, "activeTurnId", turn_id)


def end_task(step: Step, at: int, outcome: str) -> None:
    """Ends a task. What was shown stays.

    A text that was open is complete if the task is, everything else that was open is incomplete now.
    """
    for position in [entry["position"] for entry in step.peek_task(at).get("open", ())]:
        item = ItemAt(at, position)
        is_text = step.peek_item(item)["type"] in ("message", "reasoning")
        finish_item(step, item, "completed" if outcome == "completed" and is_text else "incomplete")
    task = step.task(at)
    task["status"] = outcome
    task["endedAt"] = step.event.timestamp
    if task.get("attempts") and not is_terminal(task["attempts"][-1]["status"]):
        attempt = step.own(step.own_list(task, "attempts"), -1)
        attempt["status"] = outcome
        attempt["endedAt"] = step.event.timestamp
    step.change()


def _close_tools(step: Step, turn_id: str, outcome: str) -> None:
    """A call whose result never came: stopped if the turn was stopped, else its outcome is unknown."""
    for at, known in enumerate(step.state["toolCalls"]):
        if known.get("turnId") == turn_id and known["status"] == "running":
            call = step.entry("toolCalls", at)
            call["status"] = "cancelled" if outcome == "cancelled" else "unknown"
            call["endedAt"] = step.event.timestamp
            step.change()


def _abandon_actions(step: Step, turn_id: str) -> None:
    for at, known in enumerate(step.state["actions"]):
        if known.get("turnId") == turn_id and known["status"] == "pending":
            step.derived.remove_pending(known)
            action = step.entry("actions", at)
            action["status"] = "abandoned"
            action["resolvedAt"] = step.event.timestamp
            step.change()


def _task_outcome(turn: str, is_root: bool) -> str:
    """A child that nobody ended is lost when its turn ends by itself: neither success nor a stop is a default."""
    return turn if is_root or turn == "cancelled" else "lost"
