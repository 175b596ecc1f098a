"""A bad reader of every dialect: one byte a second, cuts at any byte, back again and again, while the run goes on.

What the reader has put together at the end is what one that was never cut has, and the server takes no more memory
for it.
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

import torture  # noqa: E402: they read the environment
from recorded import Report, Turn, play  # noqa: E402
from support import request  # noqa: E402

IS_ALL = "--all" in sys.argv
TIMES = 1000 if IS_ALL else 30
SECONDS = 30 if IS_ALL else 20
# A reader that is cut at a random byte comes forward a few frames, so the run must be long enough.
AGENT = f"scripted/long?deltas={TIMES * 6 if IS_ALL else 600}&pace_ms={2 if IS_ALL else 20}"
RESUMED = ["native", "native-strict", "task"]
ENTERED = ["chat", "anthropic", "gemini", "ag-ui", "ai-sdk", "agents-sdk", "simple-run", "langgraph", "a2a"]
report = Report("torture")


def path_of(turn, **query):
    query = {"turn": turn.turn, **query}
    return f"/v1/sessions/{turn.session}/events?{urllib.parse.urlencode(query)}"


def somewhere():
    return random.randint(1, 3000)


async def resumed(turn, dialect, times, seconds):
    """A reader that keeps its cursor: its frames are those of the log, each once."""
    cursor, seen, cuts = None, [], 0
    while True:
        headers = {} if cursor is None else {"last-event-id": cursor}
        slow = seconds if cuts == 0 else 0
        cut = None if cuts >= times else somewhere()
        body, is_whole = await torture.piece(server.port, path_of(turn, dialect=dialect), cut, slow, **headers)
        for frame in torture.frames(body):
            if name := re.search(r"^id: (.+)$", frame, re.M):
                cursor = name[1]
            if not re.search(r"^event: riverrun$", frame, re.M):
                seen.append(re.search(r"^data: (.+)$", frame, re.M)[1])
        cuts += 1
        if is_whole:
            return seen, cuts


async def numbered(turn, times, seconds):
    """A reader that counts, as Responses clients do."""
    seen, cuts = [], 0
    while True:
        path = f"/v1/responses/{turn.response_id}?stream=true"
        if seen:
            path += f"&starting_after={seen[-1]['sequence_number']}"
        cut = None if cuts >= times else somewhere()
        body, is_whole = await torture.piece(server.port, path, cut, seconds if cuts == 0 else 0)
        for frame in torture.frames(body):
            if data := re.search(r"^data: (.+)$", frame, re.M):
                seen.append(json.loads(data[1]))
        cuts += 1
        if is_whole:
            return seen, cuts


async def entered(turn, dialect, times, seconds):
    """A reader without a cursor: it comes without a state each time, and the last time it stays."""
    path = path_of(turn, dialect=dialect, catchup="snapshot")
    for number in range(times):
        await torture.piece(server.port, path, somewhere(), seconds if number == 0 else 0)
    body, is_whole = await torture.piece(server.port, path, None)
    return (body.decode(), is_whole), times + 1


async def messages(turn, times, seconds):
    """A reader of content blocks over a WebSocket: it comes back with the last `event_id`."""
    seen, cuts = [], 0
    while True:
        cut = None if cuts >= times else somewhere()
        after = seen[-1]["event_id"] if seen else "0.0"
        seen += await torture.blocks(server.port, turn.session, after, cut, seconds if cuts == 0 else 0)
        cuts += 1
        if seen and seen[-1]["type"] == "message_stop":
            return seen, cuts


async def stubborn(turn, dialect, seconds):
    """One byte a second, and then the rest of the same body: a slow reader loses nothing either.

    The server may hang up on one that stalls for long. That is a cut, never an end, and the reader comes back.
    """
    path, times = path_of(turn, dialect=dialect), 1
    body, is_whole = await torture.piece(server.port, path, None, seconds)
    while not is_whole and times < 5:
        body, is_whole = await torture.piece(server.port, path, None)
        times += 1
    return (body.decode(errors="replace"), is_whole), times


def words(text):
    """The numbers of the run's words, in the order in which they were told."""
    return [int(number) for number in re.findall(r"word(\d+) ", text)]


def started():
    session = f"ses_{random.randrange(1 << 60):x}"
    assert request("POST", "/v1/sessions", {"sessionId": session})[0] == 201
    status, turn = request("POST", f"/v1/sessions/{session}/turns", {"agent": AGENT, "input": "x"})
    assert status == 202, turn
    return Turn(session, turn["turnId"], turn["taskId"])


async def all_at_once(turn, times, seconds):
    readers = {name: resumed(turn, name, times, seconds) for name in RESUMED}
    readers["responses"] = numbered(turn, times, seconds)
    readers["blocks"] = messages(turn, times, seconds)
    readers |= {name: entered(turn, name, times, seconds) for name in ENTERED}
    readers |= {f"{name}, slow": stubborn(turn, name, seconds) for name in [*RESUMED, "responses", *ENTERED] if seconds}
    return dict(zip(readers, await asyncio.gather(*readers.values())))


async def check(turn, found):
    wanted = words(turn.text())
    for name in RESUMED:
        whole, _ = await torture.piece(server.port, path_of(turn, dialect=name), None)
        data = [re.search(r"^data: (.+)$", one, re.M)[1] for one in torture.frames(whole) if "event: riverrun" not in one]
        report.equal(found[name][0], data, f"{name}: {found[name][1]} cuts")
    events, cuts = found["responses"]
    report.equal([event["sequence_number"] for event in events], list(range(len(events))), f"responses: {cuts} cuts")
    said = "".join(event["delta"] for event in events if event["type"] == "response.output_text.delta")
    report.equal(words(said), wanted, "responses: the text")
    blocks, cuts = found["blocks"]
    ids = [message["event_id"] for message in blocks]
    report.equal(ids, sorted(set(ids)), f"blocks: {cuts} cuts, each message once")
    said = "".join((message.get("delta") or {}).get("text", "") for message in blocks)
    report.equal(words(said), wanted, "blocks: the text")
    for name in [name for name in found if name in ENTERED or name.endswith("slow")]:
        (body, is_whole), _ = found[name]
        report.check(is_whole, f"{name}: the last body was not whole")
        # Some end with the whole text once more.
        report.equal(words(body)[: len(wanted)], wanted, f"{name}: the text")


async def round_of(turn, times, seconds):
    found = await all_at_once(turn, times, seconds)
    await check(turn, found)
    return sum(cuts for _, cuts in found.values())


try:
    play("scenario-text")
    random.seed(7)
    turn = started()
    cuts = asyncio.run(round_of(turn, TIMES, SECONDS))
    # A session that is read is kept in memory for a while, once; coming back to it again and again costs nothing.
    before = server.resident()
    again = asyncio.run(round_of(turn, TIMES, 0))
    grown = server.resident() - before
    report.check(grown < 12_000, f"the server grew by {grown} kB")
    print(f"  {cuts} connections while it ran, one byte a second for {SECONDS} s, memory then {before} kB")
    print(f"  {again} connections more, memory {grown:+} kB")
finally:
    server.stop()
report.end()
