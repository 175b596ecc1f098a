"""One event into the state.

`fold` and `apply` are pure: the old state stays as it was, and shares with the new one what did not change.
`Folder` works in place, for those who replay long logs and look at the end only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from ..decode.event import DecodedEvent, decode
from ..errors import MalformedError
from .derived import Derived
from .dispatch import run
from .state import State, empty_state
from .step import Step

Density = Literal["dense", "filtered"]
"""Whether a missing sequence is a loss, or what a filter left out."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an event that was handed to the fold.

    `duplicate`: its sequence was applied before. `gap`: events are missing before it. Both leave the state as it was.
    """

    type: Literal["applied", "duplicate", "gap"]
    expected: int | None = None
    found: int | None = None


@dataclass(frozen=True, slots=True)
class Applied:
    state: State
    outcome: Outcome
    sealed: list[dict[str, Any]] = field(default_factory=list)
    """Turns that left the window with this event; their full form is here for the last time."""


def fold(state: State, event: Any) -> State:
    """The state after the event. A duplicate leaves it as it is, and so does an event after a gap."""
    return apply(state, event).state


def apply(state: State, event: Any, density: Density = "dense") -> Applied:
    """Applies one event. Raises `DecodeError` if it is no event at all."""
    decoded = decode(event)
    outcome = _judge(state, decoded, density)
    if outcome.type != "applied":
        return Applied(state, outcome)
    derived, state._derived = state._derived or Derived(state), None
    step = Step(state, decoded, derived, in_place=False)
    _advance(step)
    step.state._derived = derived
    return Applied(step.state, outcome, step.sealed)


class Folder:
    """Folds in place: `state` is changed by every event."""

    def __init__(self, state: State | None = None) -> None:
        """Takes the state over; it must not be used elsewhere."""
        self.state = empty_state() if state is None else state
        self._derived = Derived(self.state)

    def apply(self, event: Any, density: Density = "dense") -> Applied:
        decoded = decode(event)
        outcome = _judge(self.state, decoded, density)
        if outcome.type != "applied":
            return Applied(self.state, outcome)
        step = Step(self.state, decoded, self._derived, in_place=True)
        _advance(step)
        return Applied(self.state, outcome, step.sealed)


def from_snapshot(snapshot: Any) -> State:
    """Reads a snapshot. Going on from it gives what going on from the original would."""
    if not isinstance(snapshot, dict):
        raise MalformedError("a snapshot is an object")
    state = State({**empty_state(), **snapshot})
    has_lists = isinstance(state["tasks"], list) and isinstance(state["turns"], list)
    if type(state["sequence"]) is not int or not has_lists:
        raise MalformedError("a snapshot has a sequence, turns and tasks")
    return state


def _judge(state: State, event: DecodedEvent, density: Density) -> Outcome:
    if event.sequence <= state["sequence"]:
        return Outcome("duplicate")
    # Joined deltas stand for all the events that they were made of.
    expected, found = state["sequence"] + 1, _first(event)
    return Outcome("gap", expected, found) if density == "dense" and found != expected else Outcome("applied")


def _first(event: DecodedEvent) -> int:
    return event.sequence if event.first_sequence is None else event.first_sequence


def _advance(step: Step) -> None:
    state, event = step.state, step.event
    first = max(_first(event), state["sequence"] + 1)
    state["revision"] += max(event.sequence - first, 0)
    state["sequence"] = event.sequence
    state["updatedAt"] = event.timestamp
    run(step)
