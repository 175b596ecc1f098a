"""Calls one server with one key, waiting for each answer."""

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

    # Sessions

    def create_session(self, **members: Any) -> dict[str, Any]:
        """Members: `sessionId`, `agent`, `title`, `metadata`. With an id, a second create gives the same session."""
        return self._transport.json(calls.create_session(members))

    def sessions(self, **filters: Any) -> dict[str, Any]:
        """Filters: `status`, `since`, `tag`, `limit`, `cursor`. A page has `sessions` and perhaps `cursor`."""
        return self._transport.json(calls.sessions(filters))

    def session(self, session_id: str) -> dict[str, Any]:
        return self._transport.json(calls.session(session_id))

    def delete_session(self, session_id: str) -> None:
        self._transport.json(calls.delete_session(session_id))

    # Turns

    def submit(self, session_id: str, input: Any, **members: Any) -> dict[str, Any]:
        """Durable once it returns. Members: `turnId` (the idempotency key), `agent`, `threadId`, `busy`."""
        return self._transport.json(calls.submit(session_id, {"input": input, **members}))

    # Processes

    def write_process(
        self, session_id: str, process_id: str, text: str = "", *, secret: bool = False, end_of_input: bool = False
    ) -> dict[str, Any]:
        """Gives a running process something to read; a secret text is kept nowhere."""
        body = {"text": text, "secret": secret, "endOfInput": end_of_input}
        return self._transport.json(calls.write_process(session_id, process_id, body))

    def terminate_process(self, session_id: str, process_id: str, reason: str | None = None) -> dict[str, Any]:
        """Ends a running process; answers when its end is durable."""
        return self._transport.json(calls.terminate_process(session_id, process_id, reason))

    def create_job(self, session_id: str, **members: Any) -> dict[str, Any]:
        """Creates a job. Members: `jobId`, `title`, `items` (`itemId`, `title`, `inputRef`, `metadata`), `metadata`.

        Whoever works on it reports by `job.*` events.
        """
        return self._transport.json(calls.create_job(session_id, members))

    def jobs(self, session_id: str, **filters: Any) -> list[dict[str, Any]]:
        """The newest jobs with `counts` of their items. Filter: `status`."""
        return self._transport.json(calls.jobs(session_id, filters))["jobs"]

    def job(self, session_id: str, job_id: str) -> dict[str, Any]:
        """A job with its `items`."""
        return self._transport.json(calls.job(session_id, job_id))

    def cancel_job(self, session_id: str, job_id: str, reason: str | None = None) -> dict[str, Any]:
        """Cancels a job that has not ended; items that are complete stay complete."""
        return self._transport.json(calls.cancel_job(session_id, job_id, reason))

    def retry_job_item(self, session_id: str, job_id: str, item_id: str, **members: Any) -> dict[str, Any]:
        """Begins another attempt at one failed item; the others keep their results. Members: `force`, `reason`."""
        return self._transport.json(calls.retry_job_item(session_id, job_id, item_id, members))

    def benchmark(self, session_id: str, **filters: Any) -> dict[str, Any]:
        """The benchmark trials that a harness recorded. Filter: `trial`."""
        return self._transport.json(calls.benchmark(session_id, filters))

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

    def events(self, session_id: str, **words: Unpack[FollowWords]) -> Iterator[dict[str, Any]]:
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

    def task(self, task_id: str) -> dict[str, Any]:
        """A task as AgentLin shows it: `task_id`, `status`, `output`."""
        return self._transport.json(calls.task(task_id))

    # Actions

    def actions(self, **filters: Any) -> dict[str, Any]:
        """Actions of every session that the key sees. Filters: `status`, `cursor`."""
        return self._transport.json(calls.actions(filters))

    def session_actions(self, session_id: str) -> dict[str, Any]:
        return self._transport.json(calls.session_actions(session_id))

    def decide(self, session_id: str, action_id: str, decision: str, **members: Any) -> Any:
        """Decisions: `approve`, `edit`, `reject`, `respond`. Members: `digest`, `arguments`, `message`, `always`."""
        return self._transport.json(calls.decide(session_id, action_id, {"decision": decision, **members}))

    def create_share(self, session_id: str, **members: Any) -> dict[str, Any]:
        """Makes a link by which anybody who has it may read the session up to now. Members: `title`, `expiresIn` (s)."""
        return self._transport.json(calls.create_share(session_id, members))

    def shares(self, session_id: str) -> list[dict[str, Any]]:
        """The links to a session, also those that no longer work, the oldest first."""
        return self._transport.json(calls.shares(session_id))["shares"]

    def revoke_share(self, session_id: str, share_id: str) -> None:
        """Revokes a link."""
        self._transport.json(calls.revoke_share(session_id, share_id))

    def _run(self, route: Route, request: Mapping[str, Any], idempotency_key: str | None = None) -> Any:
        return self._transport.json(calls.operation(route, request, idempotency_key))
