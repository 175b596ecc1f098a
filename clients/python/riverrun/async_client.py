"""Calls one server with one key, asynchronously. Every method is that of `Riverrun`."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Unpack

import httpx

from . import calls
from .calls import ProducerStamp
from .fold import Density, State, apply, empty_state, from_snapshot
from .follow import AsyncFollow
from .frame import FollowedEvent, FollowedSnapshot
from .generated.operations import AsyncOperations, Route
from .options import FollowOptions, FollowWords
from .states import adopted
from .transport import AsyncTransport, Endpoint


class AsyncRiverrun(AsyncOperations):
    """Leaving its `async with` block closes connections; it cancels nothing."""

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        http: httpx.AsyncClient | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._http = httpx.AsyncClient() if http is None else http
        self._transport = AsyncTransport(Endpoint(url, key), self._http)
        self._sleep, self._chance = sleep, chance

    async def __aenter__(self) -> AsyncRiverrun:
        return self

    async def __aexit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    # Sessions

    async def create_session(self, **members: Any) -> dict[str, Any]:
        """Members: `sessionId`, `agent`, `title`, `metadata`. With an id, a second create gives the same session."""
        return await self._transport.json(calls.create_session(members))

    async def sessions(self, **filters: Any) -> dict[str, Any]:
        """Filters: `status`, `since`, `tag`, `limit`, `cursor`. A page has `sessions` and perhaps `cursor`."""
        return await self._transport.json(calls.sessions(filters))

    async def session(self, session_id: str) -> dict[str, Any]:
        return await self._transport.json(calls.session(session_id))

    async def delete_session(self, session_id: str) -> None:
        await self._transport.json(calls.delete_session(session_id))

    # Turns

    async def submit(self, session_id: str, input: Any, **members: Any) -> dict[str, Any]:
        """Durable once it returns. Members: `turnId` (the idempotency key), `agent`, `threadId`, `busy`."""
        return await self._transport.json(calls.submit(session_id, {"input": input, **members}))

    # Processes

    async def write_process(
        self, session_id: str, process_id: str, text: str = "", *, secret: bool = False, end_of_input: bool = False
    ) -> dict[str, Any]:
        """Gives a running process something to read; a secret text is kept nowhere."""
        body = {"text": text, "secret": secret, "endOfInput": end_of_input}
        return await self._transport.json(calls.write_process(session_id, process_id, body))

    async def terminate_process(self, session_id: str, process_id: str, reason: str | None = None) -> dict[str, Any]:
        """Ends a running process; answers when its end is durable."""
        return await self._transport.json(calls.terminate_process(session_id, process_id, reason))

    async def create_job(self, session_id: str, **members: Any) -> dict[str, Any]:
        """Creates a job. Members: `jobId`, `title`, `items` (`itemId`, `title`, `inputRef`, `metadata`), `metadata`.

        Whoever works on it reports by `job.*` events.
        """
        return await self._transport.json(calls.create_job(session_id, members))

    async def jobs(self, session_id: str, **filters: Any) -> list[dict[str, Any]]:
        """The newest jobs with `counts` of their items. Filter: `status`."""
        return (await self._transport.json(calls.jobs(session_id, filters)))["jobs"]

    async def job(self, session_id: str, job_id: str) -> dict[str, Any]:
        """A job with its `items`."""
        return await self._transport.json(calls.job(session_id, job_id))

    async def cancel_job(self, session_id: str, job_id: str, reason: str | None = None) -> dict[str, Any]:
        """Cancels a job that has not ended; items that are complete stay complete."""
        return await self._transport.json(calls.cancel_job(session_id, job_id, reason))

    async def retry_job_item(self, session_id: str, job_id: str, item_id: str, **members: Any) -> dict[str, Any]:
        """Begins another attempt at one failed item; the others keep their results. Members: `force`, `reason`."""
        return await self._transport.json(calls.retry_job_item(session_id, job_id, item_id, members))

    async def benchmark(self, session_id: str, **filters: Any) -> dict[str, Any]:
        """The benchmark trials that a harness recorded. Filter: `trial`."""
        return await self._transport.json(calls.benchmark(session_id, filters))

    # Events

    async def append(
        self,
        session_id: str,
        events: Mapping[str, Any] | Iterable[Mapping[str, Any]],
        stamp: ProducerStamp | None = None,
    ) -> dict[str, Any]:
        """Appends events as one batch, all or none; durable once it returns.

        Without a stamp, do not repeat it after a cut: it may have been stored.
        The answer has `cursor`, and `first` and `last` unless it repeats a stamp that is no longer the newest.
        """
        return await self._transport.json(calls.append(session_id, events, stamp))

    def follow(self, session_id: str, **words: Unpack[FollowWords]) -> AsyncFollow:
        """Follows a session. Each sequence is given out once, in order, after any cut; a hole is an error."""
        options = FollowOptions(**words)
        return AsyncFollow(self._transport, calls.session_path(session_id), options, self._sleep, self._chance)

    async def events(self, session_id: str, **words: Unpack[FollowWords]) -> AsyncIterator[dict[str, Any]]:
        """The events of a session, without what else a stream tells."""
        async for update in self.follow(session_id, **words):
            if isinstance(update, FollowedEvent):
                yield update.event

    # State

    async def state(self, session_id: str, at: int | None = None) -> State:
        """The folded state, at the head or as it was at a sequence."""
        return from_snapshot(await self._transport.json(calls.state(session_id, at)))

    async def states(self, session_id: str, **words: Unpack[FollowWords]) -> AsyncIterator[State]:
        """The state of a session after every event, from the first or from a snapshot. Each is a value of its own."""
        words.setdefault("catchup", "snapshot")
        density: Density = "filtered" if FollowOptions(**words).is_filtered else "dense"
        state = empty_state(session_id)
        async for update in self.follow(session_id, **words):
            if isinstance(update, FollowedSnapshot):
                state = adopted(state, update)
            elif isinstance(update, FollowedEvent):
                state = apply(state, update.event, density).state
            else:
                continue
            yield state

    async def task(self, task_id: str) -> dict[str, Any]:
        """A task as AgentLin shows it: `task_id`, `status`, `output`."""
        return await self._transport.json(calls.task(task_id))

    # Actions

    async def actions(self, **filters: Any) -> dict[str, Any]:
        """Actions of every session that the key sees. Filters: `status`, `cursor`."""
        return await self._transport.json(calls.actions(filters))

    async def session_actions(self, session_id: str) -> dict[str, Any]:
        return await self._transport.json(calls.session_actions(session_id))

    async def decide(self, session_id: str, action_id: str, decision: str, **members: Any) -> Any:
        """Decisions: `approve`, `edit`, `reject`, `respond`. Members: `digest`, `arguments`, `message`, `always`."""
        return await self._transport.json(calls.decide(session_id, action_id, {"decision": decision, **members}))

    async def create_share(self, session_id: str, **members: Any) -> dict[str, Any]:
        """Makes a link by which anybody who has it may read the session up to now. Members: `title`, `expiresIn` (s)."""
        return await self._transport.json(calls.create_share(session_id, members))

    async def shares(self, session_id: str) -> list[dict[str, Any]]:
        """The links to a session, also those that no longer work, the oldest first."""
        return (await self._transport.json(calls.shares(session_id)))["shares"]

    async def revoke_share(self, session_id: str, share_id: str) -> None:
        """Revokes a link."""
        await self._transport.json(calls.revoke_share(session_id, share_id))

    async def _run(self, route: Route, request: Mapping[str, Any], idempotency_key: str | None = None) -> Any:
        return await self._transport.json(calls.operation(route, request, idempotency_key))
