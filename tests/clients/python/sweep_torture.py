"""A bad reader of every dialect: it reads in dribbles, cuts at any byte, and comes back again and again.

The run goes on meanwhile. What the reader has put together at the end is what one that was never cut has, and the
server takes no more memory for it.
"""

import asyncio
import json
import random
import re
import sys
import urllib.parse

from server import Server

server = Server()
server.environment()

from recorded import Report, Turn, play  # noqa: E402: they read the environment
from support import KEY, request  # noqa: E402

TIMES = 1000 if "--all" in sys.argv else 100
# A reader that is cut at a random byte comes forward a few frames, so the run must be long enough.
AGENT = f"scripted/long?deltas={TIMES * 6}&pace_ms=2"
RESUMED = ["native", "native-strict", "task"]
ENTERED = ["chat", "anthropic", "gemini", "ag-ui", "ai-sdk", "agents-sdk", "simple-run", "langgraph", "a2a"]
report = Report("torture")


def path_of(turn, **query):
    query = {"turn": turn.turn, **query}
    return f"/v1/sessions/{turn.session}/events?{urllib.parse.urlencode(query)}"


async def piece(path, cut, **headers):
    """The body's first bytes, read in dribbles; cut at that byte. None is the cut of a reader that reads all."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=2048)
    lines = [f"GET {path} HTTP/1.1", "host: localhost", f"authorization: Bearer {KEY}", "accept: text/event-stream"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
    head = await reader.readuntil(b"\r\n\r\n")
    assert b" 200 " in head.split(b"\r\n")[0], head
    body, is_whole = b"", False
    try:
        while cut is None or len(body) < cut:
            size = int(await reader.readuntil(b"\r\n"), 16)
            if size == 0:
                is_whole = True
                break
            left = size
            while left and (cut is None or len(body) < cut):
                wish = left if cut is None else random.choice([1, 1, 1, 7, 64, 512])
                got = await reader.read(min(left, wish))
                if not got:
                    return body, False
                body, left = body + got, left - len(got)
            if left == 0:
                await reader.readexactly(2)
    except asyncio.IncompleteReadError:
        pass
    finally:
        # A reset, not a farewell, half of the time.
        writer.transport.abort() if random.random() < 0.5 else writer.close()
    return body[:cut], is_whole


def frames(body):
    """Whole frames only: what a cut left of one is thrown away, as clients do."""
    return [part for part in body.decode(errors="ignore").split("\n\n")[:-1] if part]


async def resumed(turn, dialect):
    """A reader that keeps its cursor: its events are those of the log, each once."""
    cursor, seen, cuts = None, [], 0
    while True:
        headers = {} if cursor is None else {"last-event-id": cursor}
        last = cuts >= TIMES
        body, is_whole = await piece(path_of(turn, dialect=dialect), None if last else random.randint(1, 3000), **headers)
        for frame in frames(body):
            if name := re.search(r"^id: (.+)$", frame, re.M):
                cursor = name[1]
            if not re.search(r"^event: riverrun$", frame, re.M):
                seen.append(re.search(r"^data: (.+)$", frame, re.M)[1])
        cuts += 1
        if is_whole:
            return seen, cuts


async def numbered(turn):
    """A reader that counts, as Responses clients do."""
    seen, cuts = [], 0
    while True:
        path = f"/v1/responses/{turn.response_id}?stream=true"
        if seen:
            path += f"&starting_after={seen[-1]['sequence_number']}"
        body, is_whole = await piece(path, None if cuts >= TIMES else random.randint(1, 3000))
        for frame in frames(body):
            if data := re.search(r"^data: (.+)$", frame, re.M):
                seen.append(json.loads(data[1]))
        cuts += 1
        if is_whole:
            return seen, cuts


async def entered(turn, dialect):
    """A reader without a cursor: it comes without a state each time, and the last time it stays."""
    for _ in range(TIMES):
        await piece(path_of(turn, dialect=dialect, catchup="snapshot"), random.randint(1, 3000))
    body, is_whole = await piece(path_of(turn, dialect=dialect, catchup="snapshot"), None)
    return (body.decode(), is_whole), TIMES


def words(text):
    """The numbers of the run's words, in the order in which they were told."""
    return [int(number) for number in re.findall(r"word(\d+) ", text)]


def started():
    session = f"ses_{random.randrange(1 << 60):x}"
    assert request("POST", "/v1/sessions", {"sessionId": session})[0] == 201
    status, turn = request("POST", f"/v1/sessions/{session}/turns", {"agent": AGENT, "input": "x"})
    assert status == 202, turn
    return Turn(session, turn["turnId"], turn["taskId"])


async def torture():
    turn = started()
    names = [*RESUMED, "responses", *ENTERED]
    readers = [resumed(turn, name) for name in RESUMED] + [numbered(turn)] + [entered(turn, name) for name in ENTERED]
    found = dict(zip(names, await asyncio.gather(*readers)))
    for name in RESUMED:
        whole, _ = await piece(path_of(turn, dialect=name), None)
        wanted = [re.search(r"^data: (.+)$", one, re.M)[1] for one in frames(whole) if "event: riverrun" not in one]
        report.equal(found[name][0], wanted, f"{name}: {found[name][1]} cuts")
    numbers = [event["sequence_number"] for event in found["responses"][0]]
    report.equal(numbers, list(range(len(numbers))), f"responses: {found['responses'][1]} cuts")
    wanted = words(turn.text())
    said = [event.get("delta", "") for event in found["responses"][0] if event["type"] == "response.output_text.delta"]
    report.equal(words("".join(said)), wanted, "responses: the text")
    for name in ENTERED:
        (body, is_whole), _ = found[name]
        report.check(is_whole, f"{name}: the last body was not whole")
        told = words(body)
        # Some end with the whole text once more.
        report.equal(told[: len(wanted)], wanted, f"{name}: the text")
    return sum(cuts for _, cuts in found.values())


try:
    play("scenario-text")
    random.seed(7)
    asyncio.run(torture())
    before = server.resident()
    cuts = asyncio.run(torture())
    grown = server.resident() - before
    report.check(grown < 24_000, f"the server grew by {grown} kB")
    print(f"  {cuts} connections, memory {before} kB and then {grown:+} kB")
finally:
    server.stop()
report.end()
