"""A reader that holds a state gets a snapshot. The snapshot wins, but nothing that still needs somebody is lost."""

from __future__ import annotations

from typing import Any

from .state import State


def adopt(before: State, snapshot: State) -> State:
    """Goes on from the snapshot. Pending actions and failed calls that only `before` knows are kept.

    A snapshot that has seen less than the state leaves it as it is.
    """
    if snapshot["sequence"] < before["sequence"]:
        return before
    after = State(snapshot)
    after["actions"] = [*snapshot["actions"], *_kept_actions(before, snapshot)]
    after["toolCalls"] = _with_failures(before, snapshot)
    return after


def _was_sealed(before: State, snapshot: State, turn_id: str | None) -> bool:
    newly = snapshot["sealedTurns"] > before["sealedTurns"]
    return turn_id is not None and newly and all(turn["turnId"] != turn_id for turn in snapshot["turns"])


def _kept_actions(before: State, snapshot: State) -> list[dict[str, Any]]:
    """A turn is sealed only when nothing of it is pending: then the action can no longer be decided."""
    known = {action["actionId"] for action in snapshot["actions"]}
    kept = []
    for action in before["actions"]:
        if action["status"] != "pending" or action["actionId"] in known:
            continue
        if _was_sealed(before, snapshot, action.get("turnId")):
            time = {"resolvedAt": snapshot["updatedAt"]} if "updatedAt" in snapshot else {}
            action = {**action, "status": "abandoned", **time}
        kept.append(action)
    return kept


def _with_failures(before: State, snapshot: State) -> list[dict[str, Any]]:
    calls = list(snapshot["toolCalls"])
    places = {(call["toolCallId"], call.get("taskId")): at for at, call in enumerate(calls)}
    for call in before["toolCalls"]:
        if call["status"] != "failed":
            continue
        at = places.get((call["toolCallId"], call.get("taskId")))
        if at is None:
            # A sealed turn took its calls with it; they are stored there.
            if not _was_sealed(before, snapshot, call.get("turnId")):
                calls.append(call)
        elif not _was_restarted(calls[at], call):
            calls[at] = call
    return calls


def _was_restarted(now: dict[str, Any], before: dict[str, Any]) -> bool:
    """Times of one spelling compare as text; an absent one is before all others."""
    return now.get("startedAt", "") > before.get("endedAt", "")
