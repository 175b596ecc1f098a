"""Calls one server with one key, waiting for each answer: the generated operations, turns, events and states."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, Unpack

import httpx

from . import calls
from .calls import ProducerStamp
from .fold import Density, State, apply, empty_state, from_snapshot
from .follow import Follow
from .frame import FollowedEvent, FollowedSnapshot
from .generated.events import Event
from .generated.operations import Operations, Route
from .options import FollowOptions, FollowWords
from .states import adopted
from .transport import Endpoint, Transport


class Riverrun(Operations):
    """Leaving its `with` block closes connections; it cancels nothing."""

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        http: httpx.Client | None = None,
        sleep: Callable[[float], None] = time.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._http = httpx.Client() if http is None else http
        self._transport = Transport(Endpoint(url, key), self._http)
        self._sleep, self._chance = sleep, chance

    def __enter__(self) -> Riverrun:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    # Turns

    def submit(self, session_id: str, input: Any, **members: Any) -> dict[str, Any]:
        """Durable once it returns. Members: `turnId` (the idempotency key), `agent`, `threadId`, `busy`."""
        return self._transport.json(calls.submit(session_id, {"input": input, **members}))

    # Events

    def append(
        self,
        session_id: str,
        events: Mapping[str, Any] | Iterable[Mapping[str, Any]],
        stamp: ProducerStamp | None = None,
    ) -> dict[str, Any]:
        """Appends events as one batch, all or none; durable once it returns.

        Without a stamp, do not repeat it after a cut: it may have been stored.
        The answer has `cursor`, and `first` and `last` unless it repeats a stamp that is no longer the newest.
        """
        return self._transport.json(calls.append(session_id, events, stamp))

    def follow(self, session_id: str, **words: Unpack[FollowWords]) -> Follow:
        """Follows a session. Each sequence is given out once, in order, after any cut; a hole is an error."""
        options = FollowOptions(**words)
        return Follow(self._transport, calls.session_path(session_id), options, self._sleep, self._chance)

    def events(self, session_id: str, **words: Unpack[FollowWords]) -> Iterator[Event]:
        """The events of a session, without what else a stream tells."""
        for update in self.follow(session_id, **words):
            if isinstance(update, FollowedEvent):
                yield update.event

    # State

    def state(self, session_id: str, at: int | None = None) -> State:
        """The folded state, at the head or as it was at a sequence."""
        return from_snapshot(self._transport.json(calls.state(session_id, at)))

    def states(self, session_id: str, **words: Unpack[FollowWords]) -> Iterator[State]:
        """The state of a session after every event, from the first or from a snapshot. Each is a value of its own."""
        words.setdefault("catchup", "snapshot")
        density: Density = "filtered" if FollowOptions(**words).is_filtered else "dense"
        state = empty_state(session_id)
        for update in self.follow(session_id, **words):
            if isinstance(update, FollowedSnapshot):
                state = adopted(state, update)
            elif isinstance(update, FollowedEvent):
                state = apply(state, update.event, density).state
            else:
                continue
            yield state

    def _run(self, route: Route, request: Mapping[str, Any], idempotency_key: str | None = None) -> Any:
        return self._transport.json(calls.operation(route, request, idempotency_key))
