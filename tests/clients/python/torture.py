"""Connections that are read badly: a byte a second, in dribbles, cut at any byte."""

import asyncio
import json
import random
import socket
import time

from websockets.client import ClientProtocol
from websockets.exceptions import ConnectionClosed
from websockets.uri import parse_uri

from support import KEY


class Wire:
    """A connection with hardly any room for what was not read: the server feels how slow its reader is."""

    @classmethod
    async def open(cls, port):
        wire = cls()
        wire.socket = socket.socket()
        wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        wire.socket.setblocking(False)
        await asyncio.get_running_loop().sock_connect(wire.socket, ("127.0.0.1", port))
        return wire

    async def say(self, data):
        await asyncio.get_running_loop().sock_sendall(self.socket, data)

    async def hear(self, most):
        """Some bytes; none at the end, however it came."""
        try:
            return await asyncio.get_running_loop().sock_recv(self.socket, most)
        except ConnectionError:
            return b""

    def drop(self):
        # A reset, not a farewell, half of the time.
        if random.random() < 0.5:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.socket.close()


class Pace:
    """How much is read at once: one byte a second for a time, then dribbles, or as much as there is."""

    def __init__(self, seconds, is_cut):
        self.until, self.is_cut = time.monotonic() + seconds, is_cut

    async def most(self):
        if time.monotonic() < self.until:
            await asyncio.sleep(1)
            return 1
        return random.choice([1, 1, 1, 7, 64, 512]) if self.is_cut else 65536


async def piece(port, path, cut, seconds=0, **headers):
    """The body's first bytes, cut at that byte, and whether it is whole. Without a cut all is read."""
    wire = await Wire.open(port)
    lines = [f"GET {path} HTTP/1.1", "host: localhost", f"authorization: Bearer {KEY}", "accept: text/event-stream"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    await wire.say(("\r\n".join(lines) + "\r\n\r\n").encode())
    pace, raw, body = Pace(seconds, cut is not None), b"", b""
    try:
        while b"\r\n\r\n" not in raw:
            if not (got := await wire.hear(1)):
                raise AssertionError(f"{path}: no answer but {raw}")
            raw += got
        head, raw = raw.split(b"\r\n\r\n", 1)
        assert b" 200 " in head.split(b"\r\n")[0], (path, head)
        while cut is None or len(body) < cut:
            body, raw, is_whole = unchunked(body, raw)
            if is_whole:
                return body, True
            if not (got := await wire.hear(await pace.most())):
                return body, False
            raw += got
        return body[:cut], False
    finally:
        wire.drop()


def unchunked(body, raw):
    """Moves the whole chunks of `raw` to the body, and says whether the last one came."""
    while b"\r\n" in raw:
        size, rest = raw.split(b"\r\n", 1)
        length = int(size, 16)
        if len(rest) < length + 2:
            break
        if length == 0:
            return body, b"", True
        body, raw = body + rest[:length], rest[length + 2:]
    return body, raw, False


def frames(body):
    """Whole frames only: what a cut left of one is thrown away, as clients do."""
    return [part for part in body.decode(errors="ignore").split("\n\n")[:-1] if part]


async def blocks(port, session, after, cut, seconds=0):
    """The messages of the session's turn behind `after`, over a WebSocket that is cut at that byte."""
    wire, pace = await Wire.open(port), Pace(seconds, cut is not None)
    protocol, heard, read = ClientProtocol(parse_uri(f"ws://127.0.0.1:{port}/v1/ws/blocks")), [], 0
    protocol.send_request(protocol.connect())
    await flush(protocol, wire)
    has_asked = False
    try:
        while cut is None or read < cut:
            # The cut counts from where messages may come.
            got = await wire.hear(await pace.most() if has_asked else 1)
            if not got:
                return heard
            read += len(got) if has_asked else 0
            protocol.receive_data(got)
            heard += [message for message in messages(protocol) if "message_id" in message]
            if heard and heard[-1]["type"] == "message_stop":
                return heard
            if not has_asked and protocol.state.name == "OPEN":
                has_asked = True
                for message in ({"type": "auth", "token": KEY}, subscribe(session, after)):
                    protocol.send_text(json.dumps(message).encode())
            await flush(protocol, wire)
        return heard
    except ConnectionClosed:
        return heard
    finally:
        wire.drop()


def subscribe(session, after):
    return {"type": "subscribe", "session_id": session, "last_event_id": after}


def messages(protocol):
    for event in protocol.events_received():
        if getattr(event, "opcode", None) is not None and event.opcode.name == "TEXT":
            yield json.loads(event.data)


async def flush(protocol, wire):
    for data in protocol.data_to_send():
        if data:
            await wire.say(data)
