"""What hooks did: to a turn's input, and to calls of tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .plain import ledger
from .step import Step, put
from .tools import named_call

_TOLD = ("outcome", "reason", "updatedInputRef", "updatedToolOutputRef")


def hook(status: str) -> Callable[[Step, dict[str, Any]], None]:
    def rule(step: Step, run: dict[str, Any]) -> None:
        if status == "completed":
            _updated_prompt(step, run)
        if step.scope.get("toolCallId") is not None:
            _hook_of_call(step, status, run)
        ledger(step, run)

    return rule


def _updated_prompt(step: Step, run: dict[str, Any]) -> None:
    """From now on the turn is asked this; `turn.submitted` keeps what it was asked first."""
    turn_id, prompt = step.scope.get("turnId"), run.get("updatedPrompt")
    turn = None if turn_id is None else step.derived.turns.get(turn_id)
    if turn is None or prompt is None:
        return
    step.turn(turn)["input"] = prompt
    step.change()


def _hook_of_call(step: Step, status: str, run: dict[str, Any]) -> None:
    """The last word of each hook at each point."""
    call = named_call(step)
    if call is None:
        return
    outcome: dict[str, Any] = {"status": status}
    for key in ("hookName", "point", *_TOLD):
        put(outcome, key, run.get(key))
    hooks = step.own_list(call, "hooks")
    name, point = run.get("hookName"), run.get("point")
    for at, known in enumerate(hooks):
        if known.get("hookName") == name and known.get("point") == point:
            hooks[at] = outcome
            break
    else:
        hooks.append(outcome)
