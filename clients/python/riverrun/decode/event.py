"""An envelope as the fold reads it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from ..errors import MalformedError
from .payload import PayloadError, camel_case, camel_payload, is_id, is_known_type, read_payload
from .timestamp import normal_time

_TYPE = re.compile(r"[A-Za-z0-9._-]{1,128}", re.ASCII)
_LAST_SEQUENCE = 2**53 - 1
_IDS = (
    "threadId",
    "turnId",
    "taskId",
    "runId",
    "stepId",
    "toolCallId",
    "actionId",
    "parentTaskId",
    "parentToolCallId",
)
_BENCHMARK_MEMBERS = ("benchmark", "runtimeCorrelation", "trajectory", "reward", "comparison", "metrics", "refs")
_SUBJECTS = ("processId", "channelId", "jobItemId", "jobId", "artifactId", "evidenceId")


class DecodeError(MalformedError):
    """Why a value is not an event."""

    def __init__(self, member: str | None, problem: str, code: str = "invalid_event") -> None:
        super().__init__(problem if member is None else f"`{member}`: {problem}")
        self.field = member
        """The member at fault."""
        self.code = code
        """The code that a server refuses it with."""


@dataclass(frozen=True, slots=True)
class DecodedEvent:
    type: str
    known: bool
    """False for a vendor's type or one from a newer server."""
    sequence: int
    first_sequence: int | None
    """Given when the event stands for all events from there to its own sequence."""
    timestamp: str
    scope: dict[str, str]
    """The ids around the event, by their names on the wire. Absent means that it does not apply."""
    depth: int | None
    subagent_id: str | None
    subject: str | None
    """What the event is about when it is about a process, a channel, a job, an artifact or evidence."""
    job_id: str | None
    job_item_id: str | None
    trace_id: str | None
    payload: dict[str, Any] | PayloadError = field(repr=False)
    """Read by the form of its type, or why it does not fit."""
    raw_payload: Any = field(repr=False)
    """As it came, with known names in camelCase; None if there was none."""


def decode(event: Any) -> DecodedEvent:
    if not isinstance(event, dict):
        raise DecodeError(None, "an event is an object")
    members = _camel_members(event)
    kind = _text(members, "type")
    if kind is None:
        raise DecodeError("type", "is missing")
    if _TYPE.fullmatch(kind) is None:
        raise DecodeError("type", "may hold letters, digits and `. _ -`")
    ids = {name: _id(members, name) for name in (*_IDS, "eventId", "sessionId")}
    subject = next((members[name] for name in _SUBJECTS if name in members), None)
    payload, raw_payload = _read_both(kind, members)
    return DecodedEvent(
        type=kind,
        known=is_known_type(kind),
        sequence=_integer(members, "sequence", _LAST_SEQUENCE) or 0,
        first_sequence=_integer(members, "firstSequence", _LAST_SEQUENCE),
        timestamp=_time(members),
        scope={name: value for name in _IDS if (value := ids[name]) is not None},
        depth=_integer(members, "depth", 2**32 - 1),
        subagent_id=_text(members, "subagentId"),
        subject=subject if isinstance(subject, str) else None,
        job_id=_string(members, "jobId"),
        job_item_id=_string(members, "jobItemId"),
        trace_id=_string(members, "traceId"),
        payload=payload,
        raw_payload=raw_payload,
    )


def _string(members: dict[str, Any], name: str) -> str | None:
    value = members.get(name)
    return value if isinstance(value, str) else None


def _with_envelope(kind: str, members: dict[str, Any]) -> Any:
    """The payload of an event on a benchmark with what its envelope has; the payload's own members win."""
    raw = members.get("payload")
    inside = camel_payload(kind, {} if raw is None else raw)
    if not kind.startswith("benchmark.") or not isinstance(inside, dict):
        return raw
    return {name: members[name] for name in _BENCHMARK_MEMBERS if name in members} | inside


def _read_both(kind: str, members: dict[str, Any]) -> tuple[dict[str, Any] | PayloadError, Any]:
    raw = members.get("payload")
    if not is_known_type(kind):
        return {}, raw
    try:
        return read_payload(kind, _with_envelope(kind, members)), camel_payload(kind, raw)
    except PayloadError as error:
        return error, None


def _camel_members(event: dict[str, Any]) -> dict[str, Any]:
    """Absent and null are the same. Of two spellings the first one stands."""
    members: dict[str, Any] = {}
    for key, value in event.items():
        if value is not None:
            members.setdefault(camel_case(key), value)
    return members


def _text(members: dict[str, Any], name: str) -> str | None:
    value = members.get(name)
    if value is not None and not isinstance(value, str):
        raise DecodeError(name, "must be a string")
    return value


def _id(members: dict[str, Any], name: str) -> str | None:
    value = _text(members, name)
    if value is not None and not is_id(value):
        alphabet = "an id may hold letters, digits and `_ - . : ~ @ + =`, at most 128 of them"
        raise DecodeError(name, alphabet, "invalid_id")
    return value


def _integer(members: dict[str, Any], name: str, most: int) -> int | None:
    value = members.get(name)
    if value is not None and not (type(value) is int and 0 <= value <= most):
        raise DecodeError(name, f"must be an integer from 0 to {most}")
    return value


def _time(members: dict[str, Any]) -> str:
    value = _text(members, "timestamp")
    normal = normal_time("1970-01-01T00:00:00Z" if value is None else value)
    if normal is None:
        raise DecodeError("timestamp", "must be an RFC 3339 date and time")
    return normal
