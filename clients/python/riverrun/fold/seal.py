"""Old turns leave the state, so that the thousandth costs what the first did."""

from __future__ import annotations

from typing import Any

from .state import WINDOW
from .status import is_terminal
from .step import Step


def seal_old_turns(step: Step) -> None:
    """Called when a turn begins: finished turns beyond the window go, oldest first.

    A turn with a pending action stays, whatever its age.
    """
    while True:
        finished = [turn for turn in step.state["turns"] if is_terminal(turn["status"])]
        if len(finished) < WINDOW:
            return
        oldest = next((turn for turn in finished if not step.derived.turn_waits(turn["turnId"])), None)
        if oldest is None:
            return
        step.sealed.append(_take_turn(step, oldest))
        step.state["sealedTurns"] += 1
        step.change()


def _take_turn(step: Step, turn: dict[str, Any]) -> dict[str, Any]:
    sealed: dict[str, Any] = {"turn": turn}
    step.state["turns"] = [entry for entry in step.state["turns"] if entry is not turn]
    for name in ("tasks", "toolCalls", "actions"):
        entries = step.state[name]
        sealed[name] = [entry for entry in entries if entry.get("turnId") == turn["turnId"]]
        step.state[name] = [entry for entry in entries if entry.get("turnId") != turn["turnId"]]
    step.derived.forget(step.state, sealed["tasks"])
    return sealed
