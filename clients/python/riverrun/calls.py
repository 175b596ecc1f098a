"""What each call sends. The waiting and the asynchronous client send the same."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

from .options import with_query


@dataclass(frozen=True, slots=True)
class Call:
    method: Literal["GET", "POST", "DELETE"]
    path: str
    """Path and query, percent-encoded."""
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


class ProducerStamp(NamedTuple):
    """Who appends, and which of its appends this is: the server stores each stamp once."""

    id: str
    epoch: int
    sequence: int


def session_path(session_id: str) -> str:
    return f"/v1/sessions/{_segment(session_id)}"


def create_session(members: Mapping[str, Any]) -> Call:
    return _post("/v1/sessions", members)


def sessions(filters: Mapping[str, Any]) -> Call:
    return Call("GET", with_query("/v1/sessions", **filters))


def session(session_id: str) -> Call:
    return Call("GET", session_path(session_id))


def delete_session(session_id: str) -> Call:
    return Call("DELETE", session_path(session_id))


def submit(session_id: str, turn: Mapping[str, Any]) -> Call:
    return _post(f"{session_path(session_id)}/turns", turn)


def cancel(session_id: str, turn_id: str, mode: str) -> Call:
    return _post(f"{session_path(session_id)}/turns/{_segment(turn_id)}/cancel", {"mode": mode})


def retry(session_id: str, turn_id: str) -> Call:
    return _post(f"{session_path(session_id)}/turns/{_segment(turn_id)}/retry", {})


def steer(session_id: str, turn_id: str, input: Any) -> Call:
    return _post(f"{session_path(session_id)}/turns/{_segment(turn_id)}/steer", {"input": input})


def write_process(session_id: str, process_id: str, body: dict[str, Any]) -> Call:
    return _post(f"{session_path(session_id)}/processes/{_segment(process_id)}/stdin", body)


def terminate_process(session_id: str, process_id: str, reason: str | None) -> Call:
    body = {} if reason is None else {"reason": reason}
    return _post(f"{session_path(session_id)}/processes/{_segment(process_id)}/terminate", body)


def create_job(session_id: str, job: Mapping[str, Any]) -> Call:
    return _post(f"{session_path(session_id)}/jobs", job)


def jobs(session_id: str, filters: Mapping[str, Any]) -> Call:
    return Call("GET", with_query(f"{session_path(session_id)}/jobs", **filters))


def job(session_id: str, job_id: str) -> Call:
    return Call("GET", _job_path(session_id, job_id))


def cancel_job(session_id: str, job_id: str, reason: str | None) -> Call:
    return _post(f"{_job_path(session_id, job_id)}/cancel", {} if reason is None else {"reason": reason})


def retry_job_item(session_id: str, job_id: str, item_id: str, members: Mapping[str, Any]) -> Call:
    return _post(f"{_job_path(session_id, job_id)}/items/{_segment(item_id)}/retry", members)


def benchmark(session_id: str, filters: Mapping[str, Any]) -> Call:
    return Call("GET", with_query(f"{session_path(session_id)}/benchmark", **filters))


def _job_path(session_id: str, job_id: str) -> str:
    return f"{session_path(session_id)}/jobs/{_segment(job_id)}"


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


def task(task_id: str) -> Call:
    return Call("GET", f"/v1/tasks/{_segment(task_id)}")


def actions(filters: Mapping[str, Any]) -> Call:
    return Call("GET", with_query("/v1/actions", **filters))


def session_actions(session_id: str) -> Call:
    return Call("GET", f"{session_path(session_id)}/actions")


def decide(session_id: str, action_id: str, decision: Mapping[str, Any]) -> Call:
    return _post(f"{session_path(session_id)}/actions/{_segment(action_id)}", decision)


def rules(session_id: str) -> Call:
    return Call("GET", f"{session_path(session_id)}/rules")


def revoke_rule(session_id: str, rule_id: str) -> Call:
    return Call("DELETE", f"{session_path(session_id)}/rules/{_segment(rule_id)}")


def create_share(session_id: str, share: Mapping[str, Any]) -> Call:
    return _post(f"{session_path(session_id)}/shares", share)


def shares(session_id: str) -> Call:
    return Call("GET", f"{session_path(session_id)}/shares")


def revoke_share(session_id: str, share_id: str) -> Call:
    return Call("DELETE", f"{session_path(session_id)}/shares/{_segment(share_id)}")


def _post(path: str, body: Mapping[str, Any] | Sequence[Any], headers: Mapping[str, str] | None = None) -> Call:
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Call("POST", path, text.encode(), {"content-type": "application/json", **(headers or {})})


def _segment(text: str) -> str:
    return quote(text, safe="")
