"""What a follower asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict
from urllib.parse import quote


class FollowWords(TypedDict, total=False):
    """The words that `follow`, `events` and `states` take."""

    after: str | int
    """A cursor that the server gave, or a sequence; absent is the start of the log."""
    dialect: str
    """Absent is native. Only native streams are checked for order and gaps."""
    turn: str
    """One turn only, to its terminal event."""
    task: str
    types: Sequence[str]
    """Event types, or prefixes such as `tool.*`."""
    catchup: Literal["replay", "coalesce", "snapshot"]
    """Every event, adjacent deltas of one block as one event, or the folded state and then events."""
    index_unit: Literal["code_point", "utf16", "utf8"]
    """What the indexes of annotations in a snapshot count."""
    follow: bool
    """False leaves at the head of the log instead of staying for what happens next."""
    max_attempts: int
    """How many failed attempts in a row end the stream; absent never gives up."""


@dataclass(frozen=True, slots=True)
class FollowOptions:
    after: str | int = 0
    dialect: str | None = None
    turn: str | None = None
    task: str | None = None
    types: Sequence[str] = ()
    catchup: Literal["replay", "coalesce", "snapshot"] = "replay"
    index_unit: Literal["code_point", "utf16", "utf8"] = "code_point"
    follow: bool = True
    max_attempts: int | None = None

    @property
    def is_native(self) -> bool:
        return self.dialect in (None, "native")

    @property
    def is_filtered(self) -> bool:
        """A filtered stream has holes by design, so only its order can be checked."""
        return self.turn is not None or self.task is not None or len(self.types) > 0

    def path(self, session_path: str, cursor: str | None) -> str:
        """The request's path. `cursor` is where the follower stands, None before its first event."""
        # Who already holds a prefix wants what follows it, not a new snapshot.
        asks = self.catchup == "coalesce" or (self.catchup == "snapshot" and cursor is None)
        return with_query(
            f"{session_path}/events",
            after=str(self.after) if cursor is None else cursor,
            dialect=self.dialect,
            turn=self.turn,
            task=self.task,
            types=",".join(self.types) or None,
            catchup=self.catchup if asks else None,
            index_unit=None if self.index_unit == "code_point" else self.index_unit,
            follow=None if self.follow else "false",
        )


def with_query(path: str, **query: Any) -> str:
    """A path with a query that leaves out what is not set."""
    told = [f"{name}={quote(str(value), safe='')}" for name, value in query.items() if value is not None]
    return f"{path}?{'&'.join(told)}" if told else path
