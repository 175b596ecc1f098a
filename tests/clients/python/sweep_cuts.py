"""Every runtime and SDK, in every dialect, cut in every way: each says that it was cut, none that it is done.

    runtime   httpx, aiohttp, curl, Go's net/http; openai, anthropic, google-genai, langgraph-sdk and a2a-sdk on their own routes
    cut       the server is killed, the server drains, a proxy resets the connection, a proxy closes it
    dialect   all of them, as SSE and as NDJSON

Every reader is open, and has read something, before the cut. A reader that neither fails nor ends is wrong too.
"""

import asyncio
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path

import aiohttp
import anthropic
import httpx
import langgraph_sdk._sync.http
import openai
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import Message, Part, Role, SendMessageRequest
from google import genai
from google.genai import types
from langgraph_sdk.client import SyncLangGraphClient

from server import Server

DIALECTS = [
    "native", "native-strict", "native-lime", "task", "blocks", "responses", "chat", "anthropic", "gemini", "ag-ui",
    "ai-sdk", "agents-sdk", "simple-run", "langgraph", "a2a",
]
SSE, NDJSON = "text/event-stream", "application/x-ndjson"
# A turn of many seconds: no reader sees its end.
CONFIG = '[server]\ndrain = "1s"\n[agents.patient]\nmodel = "scripted/long?deltas=2000&pace_ms=50"\n'
AGENT, MODEL = "patient", "agent/patient"
SESSION = "open"
OPEN_TURN = [
    {"type": "turn.submitted", "payload": {"input": "go"}},
    {"type": "turn.started", "payload": {}},
    {"type": "task.created", "taskId": "k", "payload": {"title": "x", "kind": "turn"}},
    {"type": "item.started", "taskId": "k", "payload": {"outputIndex": 0, "item": {
        "type": "message", "id": "m", "role": "assistant", "blockList": [{"type": "text", "text": ""}],
        "status": "in_progress"}}},
    {"type": "model.delta", "taskId": "k", "payload": {
        "delta": "half", "itemId": "m", "outputIndex": 0, "blockIndex": 0}},
]
WAIT = 20


class Proxy:
    """Passes bytes until it is told to cut every connection, with a close or with a reset; then it listens no more."""

    def __init__(self, port):
        self.upstream, self.near, self.loop = port, [], asyncio.new_event_loop()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self.listener.getsockname()[1]
        self.server = self.loop.run_until_complete(asyncio.start_server(self.serve, sock=self.listener))
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    async def serve(self, near_reader, near):
        self.near.append(near)
        far_reader, far = await asyncio.open_connection("127.0.0.1", self.upstream)
        await asyncio.gather(self.pump(near_reader, far), self.pump(far_reader, near))

    @staticmethod
    async def pump(source, target):
        try:
            while data := await source.read(65536):
                target.write(data)
                await target.drain()
            target.close()
        except OSError:
            pass

    def cut(self, reset):
        def close_all():
            self.server.close()
            for near in self.near:
                if near.is_closing():
                    continue
                if reset:
                    linger = struct.pack("ii", 1, 0)
                    near.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                near.transport.abort()

        self.loop.call_soon_threadsafe(close_all)


class Reader:
    """One client on one stream, in a thread of its own."""

    def __init__(self, name, read):
        self.name, self.read = name, read
        self.seen, self.result = threading.Event(), None
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        try:
            outcome = self.read(self.seen.set)
            self.result = ("ended", outcome)
        except BaseException as error:  # noqa: BLE001 whatever says that it was cut
            self.result = ("failed", f"{type(error).__name__}: {error}"[:160])
        self.seen.set()


def go_reader():
    """The compiled reader in Go, or None where there is no Go."""
    if not shutil.which("go"):
        print("cuts: there is no `go` here, so net/http is left out", flush=True)
        return None
    program = Path(tempfile.mkdtemp()) / "read"
    source = Path(__file__).parent.parent / "go" / "read.go"
    subprocess.run(["go", "build", "-o", str(program), str(source)], check=True)
    return str(program)


GO_READER = go_reader()


def by_program(argv, is_enough, seen):
    """Reads what a program passes on; its exit code says whether it saw a clean end."""
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        for line in program.stdout:
            if is_enough(line):
                seen()
        if code := program.wait():
            raise RuntimeError(f"exit code {code}: {program.stderr.read().decode().strip()}")


def raw_readers(base, key):
    """The runtimes on the event route, which has every dialect."""
    headers = {"authorization": f"Bearer {key}"}
    for dialect in DIALECTS:
        for accept in (SSE, NDJSON):
            url, form = f"{base}/v1/sessions/{SESSION}/events?dialect={dialect}", accept.split("/")[1]
            asked = {**headers, "accept": accept}

            def by_httpx(seen, url=url, asked=asked):
                with httpx.Client(timeout=WAIT) as client, client.stream("GET", url, headers=asked) as answer:
                    assert answer.status_code == 200, answer.read()
                    for piece in answer.iter_text():
                        if "half" in piece or "a2a" in url:
                            seen()

            def by_aiohttp(seen, url=url, asked=asked):
                async def read():
                    async with aiohttp.ClientSession() as session, session.get(url, headers=asked) as answer:
                        assert answer.status == 200, await answer.text()
                        async for piece in answer.content.iter_any():
                            if b"half" in piece or "a2a" in url:
                                seen()

                asyncio.run(read())

            def by_curl(seen, url=url, asked=asked):
                named = [word for name, value in asked.items() for word in ("-H", f"{name}: {value}")]
                by_program(["curl", "-sSN", url, *named], lambda line: b"half" in line or "a2a" in url, seen)

            def by_go(seen, url=url, asked=asked):
                named = [f"{name}: {value}" for name, value in asked.items()]
                by_program([GO_READER, url, *named], lambda line: b"half" in line or "a2a" in url, seen)

            yield f"httpx {dialect} {form}", by_httpx
            yield f"aiohttp {dialect} {form}", by_aiohttp
            yield f"curl {dialect} {form}", by_curl
            if GO_READER:
                yield f"go {dialect} {form}", by_go


def each(stream, seen, until=3):
    """Reads a stream to its end; `seen` once a few of its parts are there."""
    for count, _ in enumerate(stream):
        if count >= until:
            seen()


def sdk_readers(base, key):
    """The official clients on the routes that are theirs, without retries of their own where they can be told."""
    words = [{"role": "user", "content": "go"}]

    def openai_client():
        return openai.OpenAI(base_url=f"{base}/v1", api_key=key, max_retries=0, timeout=WAIT)

    def responses(seen):
        each(openai_client().responses.create(model=MODEL, input="go", stream=True), seen)

    def responses_stream(seen):
        with openai_client().responses.stream(model=MODEL, input="go") as stream:
            each(stream, seen)
            stream.get_final_response()

    def chat(seen):
        each(openai_client().chat.completions.create(model=MODEL, messages=words, stream=True), seen)

    def chat_stream(seen):
        with openai_client().chat.completions.stream(model=MODEL, messages=words) as stream:
            each(stream, seen)
            stream.get_final_completion()

    def messages_client():
        return anthropic.Anthropic(base_url=base, api_key=key, max_retries=0, timeout=WAIT)

    def messages(seen):
        each(messages_client().messages.create(model=MODEL, messages=words, max_tokens=9999, stream=True), seen)

    def messages_stream(seen):
        with messages_client().messages.stream(model=MODEL, messages=words, max_tokens=9999) as stream:
            each(stream, seen)
            stream.get_final_message()

    def gemini(seen):
        options = types.HttpOptions(base_url=base, timeout=WAIT * 1000)
        client = genai.Client(api_key=key, http_options=options)
        each(client.models.generate_content_stream(model=MODEL, contents="go"), seen)

    # It reconnects five times, each with retries of its own, before it gives up; here nobody is there to come back to.
    langgraph_sdk._sync.http._reconnect_delay = lambda *_, **__: 0.05

    def langgraph(seen):
        own = httpx.Client(base_url=base, headers={"x-api-key": key}, timeout=WAIT)
        client = SyncLangGraphClient(own)
        asked = {"input": {"messages": words}, "stream_mode": ["messages", "values"]}
        each(client.runs.stream(None, AGENT, **asked), seen)

    def a2a(seen):
        async def read():
            async with httpx.AsyncClient(headers={"authorization": f"Bearer {key}"}, timeout=WAIT) as own:
                card = await A2ACardResolver(own, base).get_agent_card()
                client = ClientFactory(ClientConfig(httpx_client=own, streaming=True)).create(card)
                message = Message(message_id=uuid.uuid4().hex, role=Role.ROLE_USER, parts=[Part(text="go")])
                message.metadata.update({"agent": AGENT})
                count = 0
                async for _ in client.send_message(SendMessageRequest(message=message)):
                    if (count := count + 1) > 2:
                        seen()

        asyncio.run(read())

    yield from {
        "openai responses.create": responses,
        "openai responses.stream": responses_stream,
        "openai chat.completions.create": chat,
        "openai chat.completions.stream": chat_stream,
        "anthropic messages.create": messages,
        "anthropic messages.stream": messages_stream,
        "google-genai generate_content_stream": gemini,
        "langgraph-sdk runs.stream": langgraph,
        "a2a-sdk send_message": a2a,
    }.items()


def prepare(server):
    with httpx.Client(base_url=server.url, headers={"authorization": f"Bearer {server.key}"}) as client:
        client.post("/v1/sessions", json={"sessionId": SESSION}).raise_for_status()
        events = [{"threadId": "main", "turnId": "t", **event} for event in OPEN_TURN]
        client.post(f"/v1/sessions/{SESSION}/events", json=events).raise_for_status()


def kill(server, _):
    server.process.kill()


def drain(server, _):
    server.process.terminate()


def reset(_, proxy):
    proxy.cut(reset=True)


def close(_, proxy):
    proxy.cut(reset=False)


def run(how):
    """Opens every reader on a server of its own, cuts, and looks at what each of them says."""
    server = Server(CONFIG)
    try:
        prepare(server)
        proxy = Proxy(server.port) if how in (reset, close) else None
        base = f"http://127.0.0.1:{proxy.port}" if proxy else server.url
        all_readers = [*raw_readers(base, server.key), *sdk_readers(base, server.key)]
        readers = [Reader(name, read) for name, read in all_readers]
        for reader in readers:
            reader.thread.start()
        until = time.time() + 60
        for reader in readers:
            if not reader.seen.wait(max(0.1, until - time.time())):
                reader.result = ("never began", "")
        early = [reader for reader in readers if reader.result]
        how(server, proxy)
        until = time.time() + WAIT + 10
        for reader in readers:
            reader.thread.join(max(0.1, until - time.time()))
        right = 0
        for reader in readers:
            verdict, what = reader.result or ("still waits", "")
            if verdict == "failed" and reader not in early:
                right += 1
            else:
                print(f"  wrong: {how.__name__}, {reader.name}: {'before the cut: ' if reader in early else ''}{verdict} {what}")
            if os.environ.get("VERBOSE"):
                print(f"  {how.__name__}, {reader.name}: {verdict} {what}")
        return right, len(readers)
    finally:
        server.process.kill()
        server.process.wait()


began, right, total = time.time(), 0, 0
# Words choose among the cuts.
CUTS = {how.__name__: how for how in (kill, drain, reset, close)}
for how in [CUTS[word] for word in sys.argv[1:] if word in CUTS] or CUTS.values():
    passed, of = run(how)
    right, total = right + passed, total + of
print(f"cuts: {right}/{total} ({time.time() - began:.0f} s)", flush=True)
# Readers that never end are threads that would keep the program.
os._exit(right != total or total == 0)
