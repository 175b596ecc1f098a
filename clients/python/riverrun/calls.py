"""What each call sends. The waiting and the asynchronous client send the same."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

from .generated.operations import Route
from .options import with_query


@dataclass(frozen=True, slots=True)
class Call:
    method: Literal["GET", "POST", "PUT", "DELETE"]
    path: str
    """Path and query, percent-encoded."""
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


class ProducerStamp(NamedTuple):
    """Who appends, and which of its appends this is: the server stores each stamp once."""

    id: str
    epoch: int
    sequence: int


def operation(route: Route, request: Mapping[str, Any], idempotency_key: str | None = None) -> Call:
    """The call that carries a request. Members that are `None` are left out."""
    members = {name: value for name, value in request.items() if value is not None}
    path = route.path
    for parameter, member in route.path_members.items():
        path = path.replace(f"{{{parameter}}}", _segment(str(members.pop(member))))
    headers = {} if idempotency_key is None else {"idempotency-key": idempotency_key}
    if route.method in ("POST", "PUT"):
        return replace(_post(path, members, headers), method=route.method)
    query = {route.query_names.get(name, name): _query_text(value) for name, value in members.items()}
    return Call(route.method, with_query(path, **query), headers=headers)


def _query_text(value: Any) -> Any:
    """A value as a query writes it: lists with commas, flags in lower case."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(str(entry) for entry in value) if isinstance(value, (list, tuple)) else value


def session_path(session_id: str) -> str:
    return f"/v1/sessions/{_segment(session_id)}"


def submit(session_id: str, turn: Mapping[str, Any]) -> Call:
    return _post(f"{session_path(session_id)}/turns", turn)


def append(session_id: str, events: Any, stamp: ProducerStamp | None) -> Call:
    headers = {}
    if stamp is not None:
        headers = {
            "producer-id": stamp.id,
            "producer-epoch": str(stamp.epoch),
            "producer-seq": str(stamp.sequence),
        }
    is_one = isinstance(events, Mapping)
    return _post(f"{session_path(session_id)}/events", events if is_one else list(events), headers)


def state(session_id: str, at: int | None) -> Call:
    return Call("GET", with_query(f"{session_path(session_id)}/state", at=at))


def _post(path: str, body: Mapping[str, Any] | Sequence[Any], headers: Mapping[str, str] | None = None) -> Call:
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Call("POST", path, text.encode(), {"content-type": "application/json", **(headers or {})})


def _segment(text: str) -> str:
    return quote(text, safe="")
