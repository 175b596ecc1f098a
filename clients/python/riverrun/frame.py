"""What a frame of a native stream says."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard, cast

from .errors import MalformedError
from .generated.events import EVENT_TYPES, Event, KnownEvent
from .sse import SseFrame

_CURSOR = re.compile(r"(\d{1,16})(?:\+\d+)?(?:\..*)?", re.ASCII)
_LAST_SEQUENCE = 2**53 - 1


@dataclass(frozen=True, slots=True)
class Opened:
    """How the server answered a (re)connect: `replayed`, `coalesced` or `snapshot`."""

    outcome: str
    reason: str | None
    after: int | None
    head: int | None


@dataclass(frozen=True, slots=True)
class FollowedSnapshot:
    """The folded state that a stream starts from."""

    sequence: int
    state: dict[str, Any]
    cursor: str
    reason: str | None
    """Why a state came instead of events: `asked`, `expired`, `epoch_changed`, …"""

    @property
    def is_of_new_log(self) -> bool:
        """The log was restored or made anew: what was seen before is of another history."""
        return self.reason == "epoch_changed"


@dataclass(frozen=True, slots=True)
class FollowedEvent:
    """One event as the server sent it."""

    event: Event
    cursor: str
    """Where a follower that has seen this event goes on."""

    @property
    def type(self) -> str:
        return self.event["type"]

    @property
    def sequence(self) -> int:
        """Its place; for joined events the place of the last one."""
        return self.event["sequence"]

    @property
    def first_sequence(self) -> int:
        members: Mapping[str, Any] = self.event
        return members.get("firstSequence", self.sequence)


def is_known(event: Event) -> TypeGuard[KnownEvent]:
    """Whether the event is of a type that this client knows; after it a type checker narrows the payload by the `type`."""
    return event["type"] in EVENT_TYPES


def is_control(frame: SseFrame) -> bool:
    return frame.event == "riverrun"


def read_event(frame: SseFrame) -> FollowedEvent:
    event = read_object(frame, "event frame")
    kind: Any = event.get("type")
    sequence: Any = event.get("sequence")
    if not isinstance(kind, str):
        raise MalformedError("event frame without a type")
    if not _is_sequence(sequence):
        raise MalformedError(f"event frame of type {kind} without a sequence")
    first: Any = event.get("firstSequence", sequence)
    if not _is_sequence(first) or first > sequence:
        raise MalformedError(f"firstSequence of event {sequence} is not a place before it")
    return FollowedEvent(cast(Event, event), str(sequence) if frame.id is None else frame.id)


def read_opened(value: dict[str, Any]) -> Opened:
    outcome = _text(value, "outcome")
    return Opened(outcome or "", _text(value, "reason"), place(value.get("after")), place(value.get("head")))


def read_snapshot(value: dict[str, Any], frame: SseFrame) -> FollowedSnapshot:
    state = value.get("state")
    if not isinstance(state, dict):
        raise MalformedError("stream.snapshot without a state")
    sequence = place(value.get("sequence"))
    sequence = place(state.get("sequence")) if sequence is None else sequence
    if sequence is None:
        raise MalformedError("stream.snapshot without a sequence")
    cursor = _text(value, "cursor") or frame.id or str(sequence)
    return FollowedSnapshot(sequence, state, cursor, _text(value, "reason"))


def read_object(frame: SseFrame, what: str) -> dict[str, Any]:
    try:
        value = json.loads(frame.data)
    except (ValueError, RecursionError) as error:
        raise MalformedError(f"{what}: {error}") from None
    if not isinstance(value, dict):
        raise MalformedError(f"{what}: no object")
    return value


def place(value: Any) -> int | None:
    """A place in the log, as a number or as a cursor."""
    if _is_sequence(value):
        return value
    found = _CURSOR.fullmatch(value) if isinstance(value, str) else None
    return int(found[1]) if found is not None and int(found[1]) <= _LAST_SEQUENCE else None


def _is_sequence(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _LAST_SEQUENCE


def _text(value: dict[str, Any], name: str) -> str | None:
    text = value.get(name)
    return text if isinstance(text, str) else None
