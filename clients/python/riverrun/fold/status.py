"""The standard's words for where work stands, in one list for sessions, threads, turns, tasks and calls."""

from __future__ import annotations

from typing import Any, Final

STATUSES: Final = (
    "unknown",
    "idle",
    "draft",
    "accepted",
    "queued",
    "preparing",
    "running",
    "waiting_input",
    "waiting_permission",
    "waiting_resource",
    "blocked",
    "paused",
    "retrying",
    "cancelling",
    "cancelled",
    "timed_out",
    "failed",
    "lost",
    "completed",
    "archived",
    "stale",
)
"""`unknown`: no event told it."""

_TERMINAL = frozenset({"cancelled", "timed_out", "failed", "lost", "completed", "archived"})
_WAITING = frozenset({"waiting_input", "waiting_permission", "waiting_resource"})
_KNOWN = frozenset(STATUSES)


def is_terminal(status: str) -> bool:
    return status in _TERMINAL


def is_waiting(status: str) -> bool:
    return status in _WAITING


def parse_status(word: Any) -> str | None:
    """None for a word that is not in the list."""
    return word if isinstance(word, str) and word in _KNOWN else None
