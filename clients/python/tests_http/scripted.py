"""A server that answers from a script, for both clients, and a clock that only tests move."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx

from riverrun import AsyncRiverrun, Riverrun


@dataclass
class Scripted:
    """What one connection does: its body, then how it ends."""

    body: str = ""
    cut: bool = False
    silent: bool = False
    unreachable: bool = False
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


class Pieces(httpx.SyncByteStream, httpx.AsyncByteStream):
    """Seven bytes at a time cut lines, characters and frames."""

    def __init__(self, answer: Scripted) -> None:
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        body = self._answer.body.encode()
        for start in range(0, len(body), 7):
            yield body[start : start + 7]
        if self._answer.cut:
            raise httpx.RemoteProtocolError("peer closed connection")
        if self._answer.silent:
            raise httpx.ReadTimeout("silence")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece


class Script:
    def __init__(self, *answers: Scripted) -> None:
        self._answers = list(answers)
        self.requests: list[httpx.Request] = []
        self.pauses: list[float] = []

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self._answers.pop(0)
        if answer.unreachable:
            raise httpx.ConnectError("refused")
        return httpx.Response(answer.status, headers=answer.headers, stream=Pieces(answer))

    def paths(self) -> list[str]:
        return [request.url.raw_path.decode() for request in self.requests]

    def client(self) -> Riverrun:
        http = httpx.Client(transport=httpx.MockTransport(self.answer))
        return Riverrun("http://test/", "k", http=http, sleep=self.pauses.append, chance=lambda: 0.0)

    def async_client(self) -> AsyncRiverrun:
        async def sleep(seconds: float) -> None:
            self.pauses.append(seconds)
            await asyncio.sleep(0)

        http = httpx.AsyncClient(transport=httpx.MockTransport(self.answer))
        return AsyncRiverrun("http://test/", "k", http=http, sleep=sleep, chance=lambda: 0.0)


def control(kind: str, **members: Any) -> str:
    return f"event: riverrun\ndata: {json.dumps({'type': f'stream.{kind}', **members})}\n\n"


def delta(sequence: int, **members: Any) -> str:
    event = {"type": "model.delta", "sequence": sequence, "taskId": "t", "payload": {"delta": f"{sequence} "}}
    return f"id: {sequence}.a.b\ndata: {json.dumps({**event, **members})}\n\n"


def end(sequence: int) -> str:
    return control("end", reason="caught_up", sequence=sequence, cursor=f"{sequence}.a.b")


OPENED = control("opened", outcome="replayed", after=0, head=9)
