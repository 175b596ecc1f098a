"""One HTTP exchange, with its failures told apart. This is the only part that needs `httpx`."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import httpx

from .calls import Call
from .errors import ConnectionLostError, MalformedError, ProblemError, RiverrunError, UnreachableError
from .follower import SILENCE

DEFAULT_URL = "http://127.0.0.1:7777"
_ANSWER = httpx.Timeout(60.0, connect=10.0)
_STREAM = httpx.Timeout(60.0, connect=10.0, read=SILENCE)


class Endpoint:
    """A server and a key. `RIVERRUN_URL` and `RIVERRUN_KEY` stand in for what is not given."""

    def __init__(self, url: str | None, key: str | None) -> None:
        self.url = (url or os.environ.get("RIVERRUN_URL") or DEFAULT_URL).rstrip("/")
        self._key = key or os.environ.get("RIVERRUN_KEY")

    def request(self, client: httpx.Client | httpx.AsyncClient, call: Call, accept: str) -> httpx.Request:
        headers = {"accept": accept, **call.headers}
        if self._key is not None:
            headers["authorization"] = f"Bearer {self._key}"
        timeout = _STREAM if accept == "text/event-stream" else _ANSWER
        return client.build_request(
            call.method, self.url + call.path, content=call.body, headers=headers, timeout=timeout
        )

    def error(self, error: httpx.HTTPError) -> RiverrunError:
        if isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout)):
            return UnreachableError(self.url, error)
        if isinstance(error, httpx.ReadTimeout):
            return ConnectionLostError(f"nothing came within {SILENCE:.0f} s or more")
        return ConnectionLostError(error)


class Transport:
    def __init__(self, endpoint: Endpoint, http: httpx.Client) -> None:
        self._endpoint = endpoint
        self._http = http

    def json(self, call: Call) -> Any:
        with self._open(call, "application/json") as response:
            return _json(response.read())

    @contextmanager
    def stream(self, path: str) -> Iterator[Iterator[bytes]]:
        with self._open(Call("GET", path), "text/event-stream") as response:
            yield response.iter_bytes()

    @contextmanager
    def _open(self, call: Call, accept: str) -> Iterator[httpx.Response]:
        try:
            response = self._http.send(self._endpoint.request(self._http, call, accept), stream=True)
            try:
                if not response.is_success:
                    raise _problem(response, response.read())
                yield response
            finally:
                response.close()
        except httpx.HTTPError as error:
            raise self._endpoint.error(error) from error


class AsyncTransport:
    def __init__(self, endpoint: Endpoint, http: httpx.AsyncClient) -> None:
        self._endpoint = endpoint
        self._http = http

    async def json(self, call: Call) -> Any:
        async with self._open(call, "application/json") as response:
            return _json(await response.aread())

    @asynccontextmanager
    async def stream(self, path: str) -> AsyncIterator[AsyncIterator[bytes]]:
        async with self._open(Call("GET", path), "text/event-stream") as response:
            yield response.aiter_bytes()

    @asynccontextmanager
    async def _open(self, call: Call, accept: str) -> AsyncIterator[httpx.Response]:
        try:
            response = await self._http.send(self._endpoint.request(self._http, call, accept), stream=True)
            try:
                if not response.is_success:
                    raise _problem(response, await response.aread())
                yield response
            finally:
                await response.aclose()
        except httpx.HTTPError as error:
            raise self._endpoint.error(error) from error


def _problem(response: httpx.Response, body: bytes) -> ProblemError:
    return ProblemError(response.status_code, response.headers.get("retry-after"), body)


def _json(body: bytes) -> Any:
    # A deletion answers with nothing.
    if body == b"":
        return None
    try:
        return json.loads(body)
    except ValueError as error:
        raise MalformedError(str(error)) from None
