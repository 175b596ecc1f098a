"""What can go wrong between a client and its server."""

from __future__ import annotations

import json
from typing import Any


class RiverrunError(Exception):
    """The root of everything that this package raises on purpose."""

    is_retryable = False
    """True if the same request may succeed later, unchanged."""


class ProblemError(RiverrunError):
    """The server answered, and the answer is no."""

    def __init__(self, status: int, retry_after: str | None, body: bytes) -> None:
        wire = _object(_parse(body))
        inner = _object(wire.get("error"))
        detail = _text(wire, "detail") or _text(inner, "message") or _text(wire, "title")
        self.status = status
        self.code: str = _text(wire, "code") or _text(inner, "code") or f"http_{status}"
        """A stable name, as text, so that one from a newer server is not lost."""
        self.title = _text(wire, "title")
        self.detail = detail or f"the server answered {status}"
        self.field = _text(wire, "field") or _text(inner, "field")
        self.limit: int | None = wire.get("limit", inner.get("limit"))
        self.request_id = _text(wire, "requestId") or _text(inner, "requestId")
        told = wire.get("retryable")
        self.is_retryable = told if isinstance(told, bool) else status in (429, 502, 503, 504)
        is_seconds = retry_after is not None and retry_after.strip().isdecimal()
        self.retry_after: float | None = float(retry_after or 0) if is_seconds else None
        """What `Retry-After` asked for, in seconds."""
        super().__init__(self.detail)


class UnreachableError(RiverrunError):
    """No connection could be made. Nothing was stored."""

    is_retryable = True

    def __init__(self, url: str, reason: object) -> None:
        super().__init__(f"no server answers at {url}: {reason}")


class ConnectionLostError(RiverrunError):
    """The connection ended before the answer did. What was asked may have happened."""

    is_retryable = True

    def __init__(self, reason: object) -> None:
        super().__init__(f"the connection was cut: {reason}")


class GapError(RiverrunError):
    """The stream skipped events. The client stops rather than show a log with a hole."""

    def __init__(self, last: int, found: int) -> None:
        super().__init__(f"the stream skipped from sequence {last} to {found}")
        self.last = last
        self.found = found


class MalformedError(RiverrunError):
    """The server sent something that this client does not understand."""

    def __init__(self, what: str) -> None:
        super().__init__(f"the server's answer is not understood: {what}")


def _parse(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        # A proxy's page is no problem of ours; its status is still told.
        return None


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(members: dict[str, Any], name: str) -> str | None:
    value = members.get(name)
    return value if isinstance(value, str) else None
