"""The folded state. It is plain JSON, and a snapshot is this JSON: what is derived from it is kept beside it.

Treat a state as a value: the fold makes new ones and shares what did not change. Its members have their names on the
wire; those that no event told are absent, never a default that looks like success.

| member | holds |
|---|---|
| `sessionId` | the session |
| `sequence` | the last event that was applied |
| `revision` | counts the changes of this state |
| `updatedAt` | the time of the last event |
| `session` | `status`, `title`, `agent`, `tags`, `metadata`, `createdAt` |
| `agent` | the agent that acts now |
| `threads` | `threadId`, `status`, `title`, `activeTurnId`, `lastTurnId`, `lastOutcome`, `turns` |
| `turns` | open turns and the newest finished ones |
| `sealedTurns` | how many turns left the window |
| `tasks` | the tasks of these turns with their `output`, parents before children |
| `toolCalls` | calls of tools |
| `actions` | decisions that somebody must make, or made |
| `queue` | turns that wait |
| `usage`, `cost` | tokens, and recorded cost by currency |
| `ledger` | facts of other families, as they were last told |
| `processes` | those that tools ran or run: `entries`, and how many were `dropped` |
| `jobs` | the newest jobs with their items: `entries`, and how many were `dropped` |
| `benchmarks` | `trials`, `comparisons`, `datasets` and `configurations` of benchmarks |
| `problems` | what the fold could not make sense of: `count`, and the newest in `recent` |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .derived import Derived

WINDOW: Final = 8
"""Finished turns that stay in the state in full. Older ones are sealed: stored once, read on demand."""


class State(dict[str, Any]):
    """A session as its events tell it."""

    __slots__ = ("_derived",)
    _derived: Derived | None
    """Of the newest state of each line of states. Another fold from an older one derives it again."""

    def __init__(self, members: dict[str, Any]) -> None:
        super().__init__(members)
        self._derived = None


def empty_state(session_id: str | None = None) -> State:
    """The state before the first event."""
    return State(
        {
            **({} if session_id is None else {"sessionId": session_id}),
            "sequence": 0,
            "revision": 0,
            "session": {"status": "unknown"},
            "threads": [],
            "turns": [],
            "sealedTurns": 0,
            "tasks": [],
            "toolCalls": [],
            "actions": [],
            "queue": [],
            "usage": {},
            "cost": {},
            "ledger": {},
            "problems": {"count": 0, "recent": []},
        }
    )
