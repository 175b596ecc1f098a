"""The life of a followed stream as pure transitions: no clock, no socket, no randomness.

             opened            caught up
connecting ─────────▶ live ──────────────▶ caught up
    │                  │  cut, silence         │
    │ refused          ▼                       │        end, or the turn's terminal event
    │            reconnecting ◀────────────────┤
    ▼                  │ opened ─▶ live        ▼
  closed ◀─────────────┴───────────────────  closed
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Order = Literal["dense", "rising", "opaque"]
"""Which numbers the next event may have.

Each the successor of the last, rising with holes that a filter made, or none: frames of a foreign dialect have none.
"""


@dataclass(frozen=True, slots=True)
class ConnectionState:
    """Where a follower stands, as its user sees it."""

    status: Literal["connecting", "live", "caught_up", "reconnecting", "closed"]
    attempt: int | None = None
    """When reconnecting: which attempt is next, from 1."""
    last: int | None = None
    """When reconnecting: the last sequence that was given out."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the driver must do. `reconnect`: wait as the attempt asks, then connect again."""

    type: Literal["deliver", "ignore", "gap", "reconnect", "close", "fail"]
    attempt: int = 0
    last: int = 0
    found: int = 0


_CLOSED = ConnectionState("closed")
_DELIVER = Verdict("deliver")
_IGNORE = Verdict("ignore")
_CLOSE = Verdict("close")

Next = tuple["Machine", Verdict]


@dataclass(frozen=True, slots=True)
class Machine:
    """One method for each thing that can happen; each gives the next machine and a verdict."""

    order: Order
    max_attempts: int | None = None
    state: ConnectionState = ConnectionState("connecting")
    last: int | None = None
    """The last sequence given out; None until the server says where the stream starts."""
    ever_opened: bool = False
    finished: bool = False
    """What the stream was asked for has been seen to its end."""
    resumable: bool = True
    """A place to resume at is known."""
    failures: int = 0

    def opened(self, after: int | None) -> Next:
        # On a reconnect the follower knows better than the server where it stands.
        last = after if self.last is None else self.last
        return replace(self, state=ConnectionState("live"), last=last, ever_opened=True), _DELIVER

    def event(self, first: int, last: int, terminal: bool) -> Next:
        """An event, or a joined run of events from `first` to `last`."""
        known = self.last
        if known is not None:
            if last <= known:
                return self, _IGNORE
            if first != known + 1 if self.order == "dense" else first <= known:
                return self._closed(), Verdict("gap", last=known, found=first)
        return replace(self, last=last, failures=0, finished=self.finished or terminal), _DELIVER

    def frame(self) -> Next:
        """A frame of a foreign dialect."""
        return replace(self, failures=0), _DELIVER

    def snapshot(self, at: int, new_log: bool) -> Next:
        """`new_log`: the log was restored or made anew, so what was given out is of another history."""
        # One of the same log that is older than what was given out would take events back.
        if not new_log and self.last is not None and at < self.last:
            return self, _IGNORE
        return replace(self, last=at, failures=0), _DELIVER

    def caught_up(self, head: int | None) -> Next:
        return self._sent_up_to(head, (replace(self, state=ConnectionState("caught_up"), failures=0), _IGNORE))

    def heartbeat(self, head: int | None) -> Next:
        return self._sent_up_to(head, (replace(self, failures=0), _IGNORE))

    def end(self, head: int | None) -> Next:
        return self._sent_up_to(head, (self._closed(), _CLOSE))

    def body_ended(self) -> Next:
        """The body ended cleanly."""
        if self.finished or self.order == "opaque":
            return self._closed(), _CLOSE
        return self._broken(self.resumable)

    def cut(self) -> Next:
        """The connection broke, or was silent for too long."""
        return (self._closed(), _CLOSE) if self.finished else self._broken(self.resumable)

    def unreachable(self) -> Next:
        return self._broken(self.ever_opened)

    def refused(self, retryable: bool) -> Next:
        return self._broken(retryable)

    def _sent_up_to(self, head: int | None, following: Next) -> Next:
        """The server says that it sent everything up to `head`. What is missing then was lost on the way."""
        if self.order != "dense" or self.last is None or head is None or head <= self.last:
            return following
        return self._closed(), Verdict("gap", last=self.last, found=head)

    def _broken(self, may_retry: bool) -> Next:
        attempt = self.failures + 1
        if not may_retry or (self.max_attempts is not None and attempt > self.max_attempts):
            return self._closed(), Verdict("fail")
        state = ConnectionState("reconnecting", attempt, self.last)
        return replace(self, state=state, failures=attempt), Verdict("reconnect", attempt=attempt)

    def _closed(self) -> Machine:
        return replace(self, state=_CLOSED)
