"""A stream that resumes by itself, waiting or asynchronous. It is read once, by one reader."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

from .errors import RiverrunError
from .follower import Follower, Update
from .machine import ConnectionState
from .options import FollowOptions
from .transport import AsyncTransport, Transport


class _Following:
    def __init__(self, session_path: str, options: FollowOptions) -> None:
        self._follower = Follower(session_path, options)

    @property
    def cursor(self) -> str | None:
        """Where a later follower goes on: behind the last update that was given out."""
        return self._follower.cursor

    @property
    def connection(self) -> ConnectionState:
        return self._follower.machine.state


class Follow(_Following):
    """See `Riverrun.follow`."""

    def __init__(
        self,
        transport: Transport,
        session_path: str,
        options: FollowOptions,
        sleep: Callable[[float], None] = time.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        super().__init__(session_path, options)
        self._transport, self._sleep, self._chance = transport, sleep, chance

    def __iter__(self) -> Iterator[Update]:
        follower = self._follower
        yield from follower.drain()
        while not follower.done:
            pause = follower.pause(self._chance())
            if pause > 0:
                self._sleep(pause)
            try:
                with self._transport.stream(follower.path()) as pieces:
                    follower.connected()
                    for piece in pieces:
                        follower.feed(piece)
                        yield from follower.drain()
                        if follower.done:
                            break
                    else:
                        follower.body_ended()
            except RiverrunError as error:
                follower.failed(error)
            yield from follower.drain()
        if follower.failure is not None:
            raise follower.failure


class AsyncFollow(_Following):
    """See `AsyncRiverrun.follow`."""

    def __init__(
        self,
        transport: AsyncTransport,
        session_path: str,
        options: FollowOptions,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        super().__init__(session_path, options)
        self._transport, self._sleep, self._chance = transport, sleep, chance

    async def __aiter__(self) -> AsyncIterator[Update]:
        follower = self._follower
        for update in follower.drain():
            yield update
        while not follower.done:
            pause = follower.pause(self._chance())
            if pause > 0:
                await self._sleep(pause)
            try:
                async with self._transport.stream(follower.path()) as pieces:
                    follower.connected()
                    async for piece in pieces:
                        follower.feed(piece)
                        for update in follower.drain():
                            yield update
                        if follower.done:
                            break
                    else:
                        follower.body_ended()
            except RiverrunError as error:
                follower.failed(error)
            for update in follower.drain():
                yield update
        if follower.failure is not None:
            raise follower.failure
