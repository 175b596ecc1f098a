"""A stream that resumes by itself, without its connection.

Whoever owns a connection, waiting or not, hands in what arrives and gives out what is ready; what an input means is
decided by the machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from . import frame as read
from .backoff import delay
from .errors import ConnectionLostError, GapError, ProblemError, RiverrunError, UnreachableError
from .frame import FollowedEvent, FollowedSnapshot, Opened
from .machine import ConnectionState, Machine, Next, Order, Verdict
from .options import FollowOptions
from .sse import SseFrame, SseParser

SILENCE = 45.0
"""Three heartbeats of the server, in seconds."""
_LONGEST_WISH = 60_000
"""The longest pause that a server can ask for, in milliseconds."""
_ENDS = frozenset({"turn.completed", "turn.failed", "turn.cancelled"})

Update = ConnectionState | Opened | FollowedSnapshot | FollowedEvent | SseFrame
"""What a followed stream tells; a bare frame is one of a foreign dialect."""


class Follower:
    def __init__(self, session_path: str, options: FollowOptions) -> None:
        self._session_path = session_path
        self._options = options
        order: Order = "opaque" if not options.is_native else "rising" if options.is_filtered else "dense"
        self.machine = Machine(order, options.max_attempts, resumable=options.is_native)
        self.done = False
        self.failure: RiverrunError | None = None
        self.cursor: str | None = None
        """Behind everything that was given out."""
        self._resume: str | None = None
        """Where a reconnect goes on: behind everything that was read."""
        self._wish: float | None = None
        self._pause_attempt: int | None = None
        self._ready: list[Update] = [self.machine.state]
        self._parser = SseParser()

    def path(self) -> str:
        return self._options.path(self._session_path, self._resume)

    def pause(self, random: float) -> float:
        """How long to wait before the next connection, in seconds."""
        if self._pause_attempt is None:
            return 0.0
        wish, self._wish = self._wish, None
        return delay(self._pause_attempt, wish, random)

    def drain(self) -> Iterator[Update]:
        while self._ready:
            update = self._ready.pop(0)
            self.cursor = _cursor_of(update) or self.cursor
            yield update
        self.cursor = self._resume or self.cursor

    # What the connection does.

    def connected(self) -> None:
        self._parser = SseParser()
        # Foreign dialects have no opening frame of ours; the answer's head is the opening.
        if not self._options.is_native:
            self._apply(self.machine.opened(None), None)

    def feed(self, data: bytes) -> None:
        try:
            for frame in self._parser.push(data):
                if self.done:
                    return
                self._frame(frame)
        except RiverrunError as error:
            self.failed(error)

    def body_ended(self) -> None:
        self._lost(self.machine.body_ended(), ConnectionLostError("the stream ended without its end"))

    def failed(self, error: RiverrunError) -> None:
        if isinstance(error, UnreachableError):
            self._lost(self.machine.unreachable(), error)
        elif isinstance(error, ConnectionLostError):
            self._lost(self.machine.cut(), error)
        elif isinstance(error, ProblemError):
            self._wish = error.retry_after
            self._lost(self.machine.refused(error.is_retryable), error)
        else:
            self._lost(self.machine.refused(False), error)

    # What its frames say.

    def _frame(self, frame: SseFrame) -> None:
        if frame.retry is not None:
            self._wish = min(frame.retry, _LONGEST_WISH) / 1000
        if read.is_control(frame):
            self._control(read.read_object(frame, "control frame"), frame)
        elif not self._options.is_native:
            self._apply(self.machine.frame(), frame)
        else:
            event = read.read_event(frame)
            turn = self._options.turn
            terminal = turn is not None and event.event.get("turnId") == turn and event.type in _ENDS
            self._apply(self.machine.event(event.first_sequence, event.sequence, terminal), event)

    def _control(self, value: dict[str, Any], frame: SseFrame) -> None:
        match value.get("type"):
            case "stream.opened":
                opened = read.read_opened(value)
                self._apply(self.machine.opened(opened.after), opened)
            case "stream.snapshot":
                snapshot = read.read_snapshot(value, frame)
                self._apply(self.machine.snapshot(snapshot.sequence, snapshot.is_of_new_log), snapshot)
            case "stream.heartbeat":
                self._placed(self.machine.heartbeat(read.place(value.get("sequence"))), value)
            case "stream.caught_up":
                self._placed(self.machine.caught_up(read.place(value.get("sequence"))), value)
            case "stream.end":
                self._placed(self.machine.end(read.place(value.get("sequence"))), value)
            case "stream.draining":
                wish = read.place(value.get("retryMillis"))
                self._wish = self._wish if wish is None else min(wish, _LONGEST_WISH) / 1000
            case _:
                # From a newer server; a control frame never carries an event, so it can be passed over.
                pass

    def _placed(self, following: Next, value: dict[str, Any]) -> None:
        """A word that moves the place on: what a filter left out need not be read again."""
        verdict = self._apply(following, None)
        cursor = value.get("cursor")
        if verdict.type in ("ignore", "close") and isinstance(cursor, str):
            self._advance(cursor)

    # What the machine decides.

    def _apply(self, following: Next, update: Update | None) -> Verdict:
        """Runs one input that arrived on a working connection."""
        machine, verdict = following
        self._enter(machine)
        if verdict.type == "deliver" and update is not None:
            self._advance(_cursor_of(update))
            self._ready.append(update)
        elif verdict.type == "gap":
            self.failure = GapError(verdict.last, verdict.found)
        self.done = self.done or verdict.type not in ("deliver", "ignore")
        return verdict

    def _lost(self, following: Next, error: RiverrunError) -> None:
        """The connection is gone or of no use; `error` is what the user hears if there is no way on."""
        machine, verdict = following
        self._enter(machine)
        if verdict.type == "reconnect":
            self._pause_attempt = verdict.attempt
            return
        self.done = True
        if verdict.type != "close":
            self.failure = error

    def _enter(self, machine: Machine) -> None:
        if machine.state != self.machine.state:
            self._ready.append(machine.state)
        self.machine = machine

    def _advance(self, cursor: str | None) -> None:
        if cursor is not None:
            self._resume = cursor
            self.machine = replace(self.machine, resumable=True)


def _cursor_of(update: Update) -> str | None:
    """Where a follower that has seen this update goes on."""
    match update:
        case FollowedEvent() | FollowedSnapshot():
            return update.cursor
        case SseFrame():
            return update.id
        case ConnectionState() | Opened():
            return None
